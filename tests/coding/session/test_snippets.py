"""Short texts of entries."""

from tau.ai.wire import (
    AppMessage,
    BashExecutionMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tau.coding.session import entries as s
from tau.coding.session.snippets import Snippet, call_line, message_text, snippet


def test_message_is_its_text_or_a_note_about_its_images() -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    assert message_text("hi") == "hi"
    assert message_text([TextContent("a"), image]) == "a"
    assert message_text([image]) == "(image)"
    assert message_text([]) == ""


def shown(message: AppMessage) -> Snippet:
    return snippet(s.MessageEntry(message=message), {})


def test_tree_shows_200_characters_of_an_entry_and_searches_500() -> None:
    assert shown(UserMessage("x" * 200, 1)).text == "x" * 200
    assert shown(UserMessage("x" * 201, 1)).text == "x" * 199 + "…"
    assert shown(UserMessage("x" * 499 + "ab", 1)).search_text.endswith("xa")


def test_call_shows_100_characters_of_its_main_argument() -> None:
    for arguments in ({"command": "x" * 100}, {"odd": "x" * (100 - len('{"odd":""}'))}):
        assert "…" not in call_line(ToolCall("1", "bash", arguments))
    assert call_line(ToolCall("1", "bash", {"command": "x" * 101})) == f"[bash: {'x' * 99}…]"
    assert call_line(ToolCall("1", "bash", {"odd": "x" * 101})) == f'[bash: {{"odd":"{"x" * 91}…]'
    assert call_line(ToolCall("1", "bash", {})) == "[bash]"


def test_search_finds_the_first_200_characters_of_tool_output() -> None:
    result = ToolResultMessage("1", "bash", [TextContent("x" * 199 + "ab")], False, 1)
    assert shown(result).search_text == f"toolresult [bash] {'x' * 199}a"


def test_only_commands_that_failed_or_were_stopped_are_marked_as_failed() -> None:
    for code, cancelled, failed in (
        (0, False, False),
        (1, False, True),
        (2, False, True),
        (None, True, True),
    ):
        ran = BashExecutionMessage("ls", "", code, cancelled, False, 1)
        assert snippet(s.MessageEntry(message=ran), {}).failed is failed
