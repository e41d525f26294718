"""An image that a server refuses does not end the conversation."""

from pathlib import Path

from tau.ai.faux import FAUX_MODEL, Fail, FauxStep, Say
from tau.ai.wire import AssistantMessage, ImageContent, TextContent, ToolResultMessage, Usage, UserMessage
from tau.base.errors import ProviderError
from tau.coding.session.refused_images import quarantine
from tau.coding.session.storage.log import SessionLog
from tests.coding.session.driver import PICTURE, Driver, go

REFUSED = ProviderError("acme answered 400: Could not process image.", status=400, media=True)
OTHER = ImageContent("R0lGODdh", "image/gif")


def pictures(messages: object) -> int:
    return str(messages).count("ImageContent(")


def said_by(model: str = "faux") -> AssistantMessage:
    return AssistantMessage([TextContent("I see.")], "faux", "faux", model, Usage(), "stop", 2)


def test_the_request_goes_again_without_the_picture_and_so_does_the_next_turn(tmp_path: Path) -> None:
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
    assert driver.told == [
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


def test_pictures_that_the_model_has_answered_to_stay() -> None:
    script: list[list[FauxStep]] = [[Say("A dot.")], [Fail(REFUSED)], [Say("Only the first.")]]
    driver = Driver(script)
    go(driver, "one", PICTURE)
    assert go(driver, "two", OTHER).error is None
    assert PICTURE in driver.faux.requests[-1].messages[0].content
    assert pictures(driver.faux.requests[-1].messages) == 1


def test_if_that_does_not_help_all_of_them_go() -> None:
    script: list[list[FauxStep]] = [[Say("A dot.")], [Fail(REFUSED)], [Fail(REFUSED)], [Say("None.")]]
    driver = Driver(script)
    go(driver, "one", PICTURE)
    assert go(driver, "two", OTHER).error is None
    assert pictures(driver.faux.requests[-1].messages) == 0


def test_without_pictures_the_refusal_is_the_end() -> None:
    driver = Driver([[Fail(REFUSED)]])
    assert go(driver).error is REFUSED
    assert len(driver.faux.requests) == 1


def test_a_server_that_goes_on_refusing_ends_the_run() -> None:
    driver = Driver([[Fail(REFUSED)]])
    outcome = go(driver, "one", PICTURE)
    assert outcome.error is REFUSED
    assert len(driver.faux.requests) == 2


def test_a_picture_in_a_tools_result_is_taken_out_and_its_words_stay() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("look", 1))
    log.append_message(ToolResultMessage("c", "read", [TextContent("a.png"), PICTURE, OTHER], False, 3))
    notice = quarantine(log, FAUX_MODEL, REFUSED)
    assert notice is not None and notice.message.startswith("2 images were left out, though they stay")
    [_, result] = log.messages()
    assert isinstance(result, ToolResultMessage)
    assert result.content[0] == TextContent("a.png")
    assert pictures(result) == 0 and "image/gif" in str(result.content[2])


def test_what_another_model_has_accepted_is_suspected_all_the_same() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage([PICTURE], 1))
    log.append_message(said_by("another"))
    log.append_message(UserMessage("go on", 3))
    assert quarantine(log, FAUX_MODEL, REFUSED) is not None
    assert pictures(log.messages()) == 0


def test_a_long_reason_is_cut_for_the_model() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage([PICTURE], 1))
    quarantine(log, FAUX_MODEL, ProviderError("x" * 5000, media=True))
    assert len(str(log.messages())) < 1000
