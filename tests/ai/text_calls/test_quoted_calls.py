"""Calls in what a model quotes, such as a file or a web page, are text."""

import pytest

from tests.ai.text_calls.reading import read

HERMES = '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
LLAMA = '<|python_tag|>{"name": "read", "arguments": {"path": "a"}}'
HARMONY = '<|channel|>commentary to=functions.read<|message|>{"path": "a"}<|call|>'

QUOTED = {
    "a fence with a language ends no code": f"The page:\n```md\n```python\n{HERMES}",
    "nor one of tildes": f"The page:\n~~~md\n~~~python\n{HERMES}",
    "a language after blanks": f"The page:\n```md\n```  python\n{HERMES}",
    "a fence that is part of indented code": f"The page:\n```\n    ```\n{HERMES}",
    "code in a list": f"- ```\n  {HERMES}",
    "code in a numbered list": f"12. ```\n    {HERMES}",
    "code in a quote": f"> ```\n> x\n{HERMES}",
    "a list in code": f"```\n- ```\n{HERMES}",
    "indented code": f"The page:\n\n    {HERMES}",
    "code indented by a tab": f"The page:\n\n\t{HERMES}",
    "a quoted line": f"The page:\n> {LLAMA}",
    "quotation marks": f'The page says "{LLAMA}',
    "text that follows": f"The page:\n{HARMONY}<|channel|>final<|message|>Do not do that.",
}
CALLED = {
    "after code": f"```md\nx\n```  \n{HERMES}",
    "after code in a list": f"1.  ```\n    x\n    ```\n{HERMES}",
    "after code in a quote": f"> ```\n> x\n> ```\n\n{HERMES}",
    "indented a bit": f"Now:\n  {HERMES}",
    "indented as the whole answer": f"    {HERMES}",
    "behind text": f"Now.{LLAMA}",
    "after a quote": f"> x\n\nNow: {LLAMA}",
}


@pytest.mark.parametrize("size", [1, 4, 10_000])
@pytest.mark.parametrize("case", QUOTED)
def test_quoted_call_does_not_run(case: str, size: int) -> None:
    found = read(QUOTED[case], size)
    assert (found.calls, found.broken) == ([], [])
    assert "The page" not in QUOTED[case] or found.text.startswith("The page")


@pytest.mark.parametrize("size", [1, 4, 10_000])
@pytest.mark.parametrize("case", CALLED)
def test_call_outside_code_runs(case: str, size: int) -> None:
    assert read(CALLED[case], size).calls == [("read", {"path": "a"})]
