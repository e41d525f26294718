"""An image that a server refuses does not end the conversation."""

from pathlib import Path

from tau.ai.faux import FAUX_MODEL, Fail, FauxStep, Say
from tau.ai.wire import AssistantMessage, ImageContent, TextContent, ToolResultMessage, Usage, UserMessage
from tau.base.errors import ProviderError
from tau.coding.session.refused_images import remove_refused_images
from tau.coding.session.storage.log import SessionLog
from tests.coding.session.driver import PICTURE, Driver, go

REFUSED = ProviderError("acme answered 400: Could not process image.", status=400, media=True)
OTHER = ImageContent("R0lGODdh", "image/gif")


def pictures(messages: object) -> int:
    return str(messages).count("ImageContent(")


def said_by(model: str = "faux") -> AssistantMessage:
    return AssistantMessage([TextContent("I see.")], "faux", "faux", model, Usage(), "stop", 2)


def test_request_is_resent_without_the_picture_in_this_and_the_next_turn(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    driver = Driver([[Fail(REFUSED)], [Say("Without it, then.")]], log=log)
    outcome = go(driver, "What is it?", PICTURE)
    assert outcome.error is None
    first, second = driver.faux.requests
    assert (pictures(first.messages), pictures(second.messages)) == (1, 0)
    note = (
        "[An image was here (image/png, 9 bytes); the server refused it: "
        "acme answered 400: Could not process image.]"
    )
    assert second.messages[0].content == [TextContent("What is it?"), TextContent(note)]
    assert driver.notices == [
        "An image was left out, though it stays in the session: acme answered 400: Could not process image."
    ]
    go(driver, "And now?")
    assert pictures(driver.faux.requests[2].messages) == 0
    log.close()
    assert log.path is not None
    assert PICTURE.data in log.path.read_text()
    resumed = Driver([[Say("Still without it.")]], log=SessionLog.open(log.path))
    assert go(resumed, "Hello again").error is None
    assert pictures(resumed.faux.requests[0].messages) == 0
    resumed.log.close()


def test_already_answered_pictures_are_kept() -> None:
    script: list[list[FauxStep]] = [[Say("A dot.")], [Fail(REFUSED)], [Say("Only the first.")]]
    driver = Driver(script)
    go(driver, "one", PICTURE)
    assert go(driver, "two", OTHER).error is None
    assert PICTURE in driver.faux.requests[-1].messages[0].content
    assert pictures(driver.faux.requests[-1].messages) == 1


def test_all_pictures_are_removed_if_that_does_not_help() -> None:
    script: list[list[FauxStep]] = [[Say("A dot.")], [Fail(REFUSED)], [Fail(REFUSED)], [Say("None.")]]
    driver = Driver(script)
    go(driver, "one", PICTURE)
    assert go(driver, "two", OTHER).error is None
    assert pictures(driver.faux.requests[-1].messages) == 0


def test_refusal_without_pictures_ends_the_run() -> None:
    driver = Driver([[Fail(REFUSED)]])
    assert go(driver).error is REFUSED
    assert len(driver.faux.requests) == 1


def test_repeated_refusals_end_the_run() -> None:
    driver = Driver([[Fail(REFUSED)]])
    outcome = go(driver, "one", PICTURE)
    assert outcome.error is REFUSED
    assert len(driver.faux.requests) == 2


def test_picture_is_removed_from_a_tool_result_and_its_text_kept() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("look", 1))
    log.append_message(ToolResultMessage("c", "read", [TextContent("a.png"), PICTURE, OTHER], False, 3))
    notice = remove_refused_images(log, FAUX_MODEL, REFUSED)
    assert notice is not None and notice.message.startswith("2 images were left out, though they stay")
    [_, result] = log.messages()
    assert isinstance(result, ToolResultMessage)
    assert result.content[0] == TextContent("a.png")
    assert pictures(result) == 0 and "image/gif" in str(result.content[2])


def test_pictures_accepted_by_another_model_are_still_removed() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage([PICTURE], 1))
    log.append_message(said_by("another"))
    log.append_message(UserMessage("go on", 3))
    assert remove_refused_images(log, FAUX_MODEL, REFUSED) is not None
    assert pictures(log.messages()) == 0


def test_model_reads_300_characters_of_the_reason() -> None:
    for reason, read in (("x" * 300, "x" * 300), ("x" * 301, "x" * 299 + "…")):
        log = SessionLog.new(None, Path("/"))
        log.append_message(UserMessage([PICTURE], 1))
        remove_refused_images(log, FAUX_MODEL, ProviderError(reason, media=True))
        assert f"the server refused it: {read}]" in str(log.messages())
