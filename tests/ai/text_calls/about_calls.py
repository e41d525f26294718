"""Texts that talk about calls: documentation, code, quotations, examples, mistakes."""

from collections.abc import Iterator
from random import Random

from tests.ai.text_calls.written import FORMATS, calls, worded

FRAMES = (
    "Use this:\n```\n{call}\n```\n",
    "Use this:\n\n```xml\n{call}\n```\n\nand wait for the result.",
    "~~~text\n{call}\n~~~",
    "````md\n```\n{call}\n```\n````",
    "The model writes `{inline}` and stops.",
    "{call}\n\nis what the template produces.",
    "{call} would read the file.",
    "# Tool calls\n\n{call}\n\n## Results\n\nThe result follows in a `<tool_response>`.",
    "> {inline}",
    "- {inline}",
    "An unfinished one:\n```\n{call}",
    "1. {inline}\n2. The server runs it.",
    "print({inline!r})",
    "She said: {inline}.",
    "{unknown}",
    "{invalid}",
    "| call | {inline} |",
)
MARKS = (
    "<tool_call>",
    "The tag <tool_call> begins a call, </tool_call> ends it.",
    "[TOOL_CALLS] is a token of Mistral's.",
    "<function=NAME> names the function.",
    '{"name": "Ada", "age": 36}',
    '[{"name": "Ada"}, {"name": "Grace"}]',
    "[read](https://example.org) the documentation.",
    "[read the manual]",
    '{"name": "read"}',
    '{"name": "read", "arguments": "later"}',
    "<|python_tag|> is a token of Llama's.",
    "<|channel|>",
    "<think>",
    "[1, 2, 3]",
)


def about_calls() -> Iterator[str]:
    random = Random("about calls")
    for frame in FRAMES:
        for name, (write, _, _) in FORMATS.items():
            made = worded(calls(random, 1))
            call = write(made)
            special = name.startswith(("deepseek", "kimi", "harmony", "llama"))
            if special and ("{inline" in frame) and frame.endswith("{inline}"):
                continue  # special tokens count in the middle of a line: this is a call
            unknown = write([("delete_everything", {"path": "the file"})])
            invalid = write([("read", {"limit": 5})])
            inline = call.replace("\n", " ")
            yield frame.format(call=call, inline=inline, unknown=unknown, invalid=invalid)
    yield from MARKS
