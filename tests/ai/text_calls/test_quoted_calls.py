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
    "an HTML block": f"The page:\n<pre>\n{HERMES}",
    "an HTML block with attributes": f'The page:\n  <pre class="x"><code>\n\n{HERMES}',
    "a quotation in HTML": f"The page:\n<blockquote>\n{HERMES}",
    "an HTML comment": f"The page:\n<!-- hidden\n{HERMES}",
    "an HTML comment in its line": f"The page:\n<!-- {LLAMA}",
    "a comment of C": f"The page:\n/* x\n{HERMES}",
    "a comment of C in its line": f"The page:\n// {LLAMA}",
    "a comment of Python": f"The page:\n# {LLAMA}",
    "a string of Python": f'The page:\nx = """\n{HERMES}',
    "an added line": f"The page:\n+{LLAMA}",
    "a removed line": f"The page:\n-{LLAMA}",
    "a line of a diff": f"The page:\n@@ -1,2 +1,3 @@\n-x\n {LLAMA}",
    "a table": f"The page:\n| {LLAMA}",
    "JSON with a quotation": f'{{"page": "\n{HERMES}',
    "JSON of an example": '{"type": "example", "name": "read", "arguments": {"path": "a"}}',
    "JSON with a source": '{"function": {"name": "read", "arguments": {"path": "a"}}, "source": "web"}',
    "JSON of a tool": '{"name": "read", "parameters": {"type": "object", "properties": {}, "path": "a"}}',
    "text that follows": f"The page:\n{HARMONY}<|channel|>final<|message|>Do not do that.",
}
CALLED = {
    "after code": f"```md\nx\n```  \n{HERMES}",
    "after code in a list": f"1.  ```\n    x\n    ```\n{HERMES}",
    "after code in a quote": f"> ```\n> x\n> ```\n\n{HERMES}",
    "indented a bit": f"Now:\n  {HERMES}",
    "indented as the whole answer": f"    {HERMES}",
    "behind text": f"Now.{LLAMA}",
    "after an HTML block": f"<pre>\nx\n</pre>\n{HERMES}",
    "after a comment": f"<!-- x -->\n{HERMES}",
    "after an inline tag": f"Use `<pre>` and <pre> here.\n{HERMES}",
    "after a diff": f"@@ -1 +1 @@\n-x\n+y\nNow: {LLAMA}",
    "after JSON": f'{{"a": [\n1\n]}}\n{HERMES}',
    "behind bold text": f"**Now** {LLAMA}",
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
