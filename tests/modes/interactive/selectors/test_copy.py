"""Copying a part of the conversation."""

from pathlib import Path

from tau.ai.faux import Say
from tau.ai.wire import AppMessage, AssistantMessage, TextContent, Usage, UserMessage
from tau.modes.interactive.selectors.copy import (
    CodeBlock,
    choose_copy,
    code_blocks,
    copy_parts,
    first_line,
    size,
)
from tests.modes.interactive.rig import run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened

ANSWER = "Do this:\n\n```python\nprint(1)\nprint(2)\n```\n\nor\n\n~~~\nplain\n~~~\n"


def test_code_blocks_are_found_with_their_languages() -> None:
    assert code_blocks(ANSWER) == [CodeBlock("python", "print(1)\nprint(2)"), CodeBlock("", "plain")]


def test_longer_fence_contains_a_shorter_one() -> None:
    assert code_blocks("````md\n```\nx\n```\n````") == [CodeBlock("md", "```\nx\n```")]


def test_unclosed_block_extends_to_the_end() -> None:
    assert code_blocks("```sh\nls\npwd") == [CodeBlock("sh", "ls\npwd")]
    assert code_blocks("```sh\n") == [] and code_blocks("no code `x`") == []


def test_last_answer_comes_first_with_its_code() -> None:
    def answer(text: str) -> AssistantMessage:
        return AssistantMessage([TextContent(text)], "api", "provider", "model", Usage(), "stop", 1)

    newest_first: list[AppMessage] = [
        answer(ANSWER),
        UserMessage("Why?", 1),
        answer("Because."),
        UserMessage("Go", 1),
    ]
    parts = list(copy_parts(newest_first))
    assert [(part.name, part.group) for part in parts] == [
        ("Everything", "Last answer"),
        ("Code: python", "Last answer"),
        ("Code", "Last answer"),
        ("You", "Earlier"),
        ("Answer", "Earlier"),
        ("You", "Earlier"),
    ]
    assert parts[0].text == ANSWER and len(list(copy_parts(newest_first, most=2))) == 4


def test_first_line_and_size() -> None:
    assert (first_line("\n\n  x y \nz"), size("a\nb"), size("abc")) == ("x y", "2 lines", "3 chars")


def test_code_block_is_copied_to_the_clipboard(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "How?", answers=[[Say(ANSWER)]]) as rig:
            async with opened(rig, choose_copy, "Code: python"):
                await rig.press("down", "enter")
            await rig.show("Copied 17 characters.")
            assert rig.terminal.clipboard[-1] == "print(1)\nprint(2)"

    run(test)


def test_empty_session_has_nothing_to_copy(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            await choose_copy(rig.context)
            await rig.show("There is nothing to copy yet")
            assert not rig.terminal.clipboard

    run(test)
