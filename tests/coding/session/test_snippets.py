"""Short texts of entries."""

from tau.ai.wire import ImageContent, TextContent
from tau.coding.session.snippets import message_text


def test_message_is_its_text_or_a_note_about_its_images() -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    assert message_text("hi") == "hi"
    assert message_text([TextContent("a"), image]) == "a"
    assert message_text([image]) == "(image)"
    assert message_text([]) == ""
