"""Reasoning that its server no longer accepts does not end the conversation."""

import json
from pathlib import Path

from tau.agent.events import Notice
from tau.ai.faux import FAUX_MODEL, Fail, Say
from tau.ai.wire import (
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
    UserMessage,
    is_signed,
)
from tau.base.errors import ProviderError
from tau.coding.session.refused_reasoning import remove_refused_reasoning
from tau.coding.session.storage.log import SessionLog
from tests.coding.session.driver import Driver, go

REFUSED = ProviderError("acme answered 400: invalid signature.", status=400, kind="staleReasoning")


def signed(model: str = FAUX_MODEL.id) -> AssistantMessage:
    content = [
        ThinkingContent("Hm.", "sig"),
        ThinkingContent("", "sealed", True),
        TextContent("Yes.", "text-sig"),
    ]
    return AssistantMessage([*content], FAUX_MODEL.api, FAUX_MODEL.provider, model, Usage(), "stop", 2)


def new_log(folder: Path, *answers: AssistantMessage) -> SessionLog:
    log = SessionLog.new(folder, folder)
    for answer in answers:
        log.append_message(UserMessage("hi", 1))
        log.append_message(answer)
    return log


def test_request_is_sent_again_without_it_in_this_and_later_turns(tmp_path: Path) -> None:
    log = new_log(tmp_path, signed())
    driver = Driver([[Fail(REFUSED)], [Say("Hello.")], [Say("Again.")]], log=log)
    assert go(driver, "go on").error is None
    assert go(driver, "and on").error is None
    answers = [request.messages[1] for request in driver.faux.requests]
    assert all(isinstance(answer, AssistantMessage) for answer in answers)
    assert [is_signed(answer.content) for answer in answers if isinstance(answer, AssistantMessage)] == [
        True,
        False,
        False,
    ]
    assert [answer.text for answer in answers if isinstance(answer, AssistantMessage)] == ["Yes."] * 3
    assert driver.notices == [
        f"{FAUX_MODEL.key} no longer accepts its earlier reasoning; asking again without it."
    ]
    log.close()
    assert log.path is not None
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert "text-sig" in log.path.read_text()
    assert [line["type"] for line in lines].count("context_edit") == 1


def test_second_refusal_ends_the_run(tmp_path: Path) -> None:
    log = new_log(tmp_path, signed())
    driver = Driver([[Fail(REFUSED)], [Fail(REFUSED)]], log=log)
    assert go(driver, "go on").error is REFUSED
    assert len(driver.faux.requests) == 2
    log.close()


def test_reasoning_of_another_model_is_left_alone(tmp_path: Path) -> None:
    log = new_log(tmp_path, signed("other"))
    assert remove_refused_reasoning(log, FAUX_MODEL, REFUSED) is None
    log.close()


def test_calls_are_never_removed(tmp_path: Path) -> None:
    call = ToolCall("c1", "read", {"path": "a"}, "call-sig")
    answer = AssistantMessage(
        [call], FAUX_MODEL.api, FAUX_MODEL.provider, FAUX_MODEL.id, Usage(), "toolUse", 2
    )
    log = new_log(tmp_path, answer)
    assert isinstance(remove_refused_reasoning(log, FAUX_MODEL, REFUSED), Notice)
    message = log.context().items[1].message
    assert isinstance(message, AssistantMessage)
    assert message.content == [ToolCall("c1", "read", {"path": "a"})]
    log.close()
