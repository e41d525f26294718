"""Session names: typed ones, titles from a small model, and the fallback."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.abort import Abort
from tau.ai.assembler import complete
from tau.ai.dialect import Request
from tau.ai.faux import FAUX_MODEL, Act, Count, Fail, Faux, FauxStep, Say, Wait
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, ImageContent, Usage, UserMessage
from tau.base import log as log_file
from tau.base.errors import ProviderError, SessionError
from tau.base.text import clean_line
from tau.coding.session import entries as s
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.titles import (
    READ_CHARS,
    TITLE_CHARS,
    UNTITLED,
    Complete,
    SessionTitle,
    clean_title,
    first_words,
    make_title,
)
from tests.support.limits import HANG_S


def asking(script: Sequence[Sequence[FauxStep]]) -> tuple[Complete, Faux]:
    faux = Faux(script)

    async def ask(model: Model, request: Request) -> AssistantMessage:
        return await complete(faux.stream, model, request)

    return ask, faux


def names_of(script: Sequence[Sequence[FauxStep]], *messages: str) -> tuple[SessionTitle, SessionLog, Faux]:
    ask, faux = asking(script)
    log = SessionLog.new(None, Path("/project"))
    for message in messages:
        log.append_message(UserMessage(message, 0))
    return SessionTitle(log, ask, lambda: FAUX_MODEL), log, faux


def suggest(names: SessionTitle, abort: Abort | None = None) -> str | None:
    async def main() -> str | None:
        async with asyncio.timeout(HANG_S):
            return await names.suggest(abort or Abort())

    return asyncio.run(main())


def kinds(log: SessionLog) -> list[str]:
    return [node.type for node in log.nodes()]


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix the parser of dates", "Fix the parser of dates"),
        ('"Fix the parser."\n', "Fix the parser"),
        ("**Fix** the `parser`", "Fix the parser"),
        ("# Title: Fix the parser", "Fix the parser"),
        ("Session title: “Fix the parser”", "Fix the parser"),
        ("<think>What is\nit?</think>\n\nFix the parser", "Fix the parser"),
        ("<title>Fix the parser</title>", "Fix the parser"),
        ("- Fix the parser\n- Fix the lexer", "Fix the parser"),
        ("1. Fix the parser", "Fix the parser"),
        ("\x1b[31mFix\tthe  parser\x1b[0m", "Fix the parser"),
        ("Исправить разбор дат", "Исправить разбор дат"),
        ("日付の解析を直す。", "日付の解析を直す"),
        ("2.0 release notes", "2.0 release notes"),
        ("Rename __init__ and *args of Foo", "Rename __init__ and *args of Foo"),
    ],
)
def test_title_is_stripped_of_decoration(answer: str, title: str) -> None:
    assert clean_title(answer) == title


@pytest.mark.parametrize(
    "answer",
    [
        *("", " \n\t", "***", '""', "…", "<think>I wonder about all of this"),
        *("I'm sorry, but I cannot do that.", "Sure! Here is a title", "I think it is about dates"),
        "The parser of dates has a mistake in line twelve, where the month is taken for the day, so let me "
        "explain how that can be repaired in three steps",
    ],
)
def test_unsuitable_answer_is_rejected(answer: str) -> None:
    assert clean_title(answer) is None


@given(st.text(max_size=300))
def test_every_title_is_one_short_line(text: str) -> None:
    for title in (clean_title(text), first_words(text)):
        assert title is None or (0 < len(title) <= TITLE_CHARS and title == clean_line(title))


def test_long_titles_end_at_a_word_boundary() -> None:
    title = clean_title("Repair the parser of dates and times in the module for calendars and diaries")
    assert title == "Repair the parser of dates and times in the module for…"
    assert first_words("x" * 500) == "x" * 59 + "…"
    assert first_words("x" * 60) == "x" * 60
    assert first_words("x " + "y" * 60) == "x " + "y" * 57 + "…"  # more than half would be lost


def test_line_of_an_answer_may_be_as_long_as_the_limit() -> None:
    longest = "word " * 23 + "words"
    assert len(longest) == 120
    assert clean_title(longest) is not None
    assert clean_title(f"{longest}x") is None


def test_typed_name_has_200_characters() -> None:
    names, _, _ = names_of([])
    assert names.rename("x" * 200) == "x" * 200
    assert names.rename("x" * 201) == "x" * 199 + "…"


def test_title_is_made_from_2000_characters_in_1024_tokens() -> None:
    for text, sent in (("x" * 2_000, "x" * 2_000), ("x" * 2_001, "x" * 2_000 + "\n[rest omitted]")):
        ask, faux = asking([[Say("Repair dates")]])
        asyncio.run(make_title(ask, FAUX_MODEL, text))
        assert faux.requests[0].max_tokens == 1_024
        assert re.findall("x+(?:\n.*omitted.*)?", faux.requests[0].messages[0].content)[-1] == sent


def test_first_words_of_the_message_are_the_fallback() -> None:
    assert first_words("\n\n# Please repair it\nAnd more.") == "Please repair it"
    assert first_words(" \n---\n") == UNTITLED


def test_title_request_is_short_and_uses_the_start_of_the_message() -> None:
    ask, faux = asking([[Say("Repair dates"), Count(input=90, output=4)]])
    title, usage = asyncio.run(make_title(ask, FAUX_MODEL, "Repair the dates. " + "x" * 100_000))
    assert title == "Repair dates" and (usage.input, usage.output) == (90, 4)
    (request,) = faux.requests
    (message,) = request.messages
    assert "Repair the dates." in message.content and len(message.content) < READ_CHARS + 100
    assert request.tools == [] and request.thinking == "off"


@pytest.mark.parametrize("script", [[[Fail(ProviderError("Down."))]], [[Say("")]], [[Say("Sorry, no.")]]])
def test_failed_or_chatty_answer_falls_back_to_the_message(script: list[list[FauxStep]]) -> None:
    ask, _ = asking(script)
    title, _ = asyncio.run(make_title(ask, FAUX_MODEL, "Repair the dates"))
    assert title == "Repair the dates"


def test_answer_with_stop_reason_error_falls_back_to_the_message() -> None:
    async def fail(model: Model, request: Request) -> AssistantMessage:
        return AssistantMessage([], "faux", "faux", "faux", Usage(), "error", 0, "It broke.")

    assert asyncio.run(make_title(fail, FAUX_MODEL, "Repair the dates"))[0] == "Repair the dates"


def test_suggestion_names_the_session_and_its_cost_is_recorded() -> None:
    names, log, _ = names_of([[Say("Repair dates"), Count(input=90, output=4)]], "Repair the dates")
    assert suggest(names) == "Repair dates" == names.name == log.name
    assert kinds(log) == ["message", "session_info", "usage"]
    usage = log.decode(list(log.nodes())[-1])
    assert isinstance(usage, s.UsageEntry)
    assert (usage.kind, usage.provider, usage.model, usage.usage.input) == ("title", "faux", "faux", 90)


def test_session_is_named_once() -> None:
    names, log, faux = names_of([[Say("Repair dates")]], "Repair the dates")
    suggest(names)
    assert suggest(names) is None and len(faux.requests) == 1
    other = SessionTitle(log, asking([[Say("Other")]])[0], lambda: FAUX_MODEL)
    assert suggest(other) is None and log.name == "Repair dates"


def test_empty_session_is_not_named() -> None:
    names, log, faux = names_of([[Say("Title")]])
    assert suggest(names) is None and faux.requests == []
    log.append_message(UserMessage("Repair it", 0))
    assert suggest(names) == "Title"


def test_user_chosen_name_is_never_overwritten() -> None:
    names, log, faux = names_of([[Say("Title")]], "Repair it")
    assert names.rename("  My\n name ") == "My name" == log.name
    assert suggest(names) is None and faux.requests == [] and log.name == "My name"


def test_name_typed_while_the_model_thinks_is_kept() -> None:
    ask, _ = asking([[Act(lambda: names.rename("Mine")), Say("Title"), Count(output=4)]])
    log = SessionLog.new(None, Path("/project"))
    log.append_message(UserMessage("Repair it", 0))
    names = SessionTitle(log, ask, lambda: FAUX_MODEL)
    assert suggest(names) is None and log.name == "Mine"
    assert kinds(log) == ["message", "session_info", "usage"]


def test_removed_name_is_not_replaced() -> None:
    names, log, faux = names_of([[Say("Title")]], "Repair it")
    names.rename("Mine")
    assert names.rename("  ") is None and names.name is None
    assert suggest(names) is None and faux.requests == [] and log.name is None


def test_same_name_is_not_written_twice() -> None:
    names, log, _ = names_of([[Say("Title")]], "Repair it")
    names.rename("Mine")
    names.rename(" Mine ")
    assert kinds(log) == ["message", "session_info"]


def test_name_is_saved_in_the_file(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/project"))
    log.append_message(UserMessage("Repair it", 0))
    suggest(SessionTitle(log, asking([[Say("Title")]])[0], lambda: FAUX_MODEL))
    log.close()
    again = SessionLog.open(log.path or Path())
    assert again.name == "Title"
    again.close()


def test_abort_ends_the_request_and_leaves_nothing_behind() -> None:
    abort = Abort()
    names, log, faux = names_of([[Act(abort.abort), Wait()], [Say("Title")]], "Repair it")
    assert suggest(names, abort) is None and kinds(log) == ["message"]
    assert suggest(names) == "Title" and len(faux.requests) == 2


def test_outside_cancellation_propagates() -> None:
    names, log, _ = names_of([[Wait()]], "Repair it")

    async def main() -> None:
        async with asyncio.timeout(0.01):
            await names.suggest(Abort())

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert kinds(log) == ["message"]


def test_errors_are_logged_and_not_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log_file.to(tmp_path)
    try:
        names, log, _ = names_of([[Fail(RuntimeError("A slip."))]], "Repair it")
        assert suggest(names) is None and kinds(log) == ["message"]

        def full(entry: s.KnownEntry) -> str:
            raise SessionError("The disk is full.")

        names, log, _ = names_of([[Say("Title")]], "Repair it")
        monkeypatch.setattr(log, "append", full)
        assert suggest(names) is None
    finally:
        log_file.to(None)
    text = (tmp_path / "tau.log").read_text(encoding="utf-8")
    assert "A slip." in text and "The disk is full." in text


def test_message_of_pictures_only_gives_a_name() -> None:
    log = SessionLog.new(None, Path("/project"))
    log.append_message(UserMessage([ImageContent("aGk=", "image/png")], 0))
    names = SessionTitle(log, asking([[Fail(ProviderError("Down."))]])[0], lambda: FAUX_MODEL)
    assert suggest(names) == "(image)"
