"""Stream rules in a session: interrupt and ask again, remind after a call or an answer, repeat, resume."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tau import Session, SessionOptions, create_session
from tau.agent.events import AgentEvent, RulesTriggered
from tau.ai.faux import Act, Fail, Faux, FauxStep, Say, Use, Wait
from tau.ai.wire import AssistantMessage, CustomMessage, ToolResultMessage, UserMessage
from tau.base.errors import ProviderError
from tau.coding.rules.rule import RuleFile, make_rule
from tests.support.limits import HANG_S

NO_PRINT = make_rule(
    "no-print", "Use the logger.", {"condition": r"print\(", "scope": "tool:write(*.py)"}, path="rules/a.md"
)
NO_SORRY = make_rule("no-sorry", "Do not apologize.", {"condition": "(?i)sorry", "scope": "text"})
NEVER = {"ttsr.interruptMode": "never"}


class Run:
    def __init__(self, script: Sequence[Sequence[FauxStep]], *rules: RuleFile, **options: Any) -> None:
        self.faux = Faux(script)
        self.events: list[AgentEvent] = []
        self.options = options
        self.rules = rules

    def go(self, cwd: Path, *prompts: str) -> list[Any]:
        """The messages on the branch after these prompts."""

        async def main() -> list[Any]:
            options = SessionOptions(
                cwd=cwd, model="faux/faux", stream=self.faux.stream, rules=self.rules, **self.options
            )
            async with asyncio.timeout(HANG_S), create_session(options) as session:
                session.subscribe(self.events.append)
                for prompt in prompts:
                    await self.prompt(session, prompt)
                return session.log.messages()

        return asyncio.run(main())

    async def prompt(self, session: Session, text: str) -> None:
        await session.prompt(text)

    @property
    def triggered(self) -> list[tuple[list[str], bool]]:
        return [
            ([rule.name for rule in event.rules], event.interrupted)
            for event in self.events
            if isinstance(event, RulesTriggered)
        ]

    def hidden(self, request: int) -> list[str]:
        """What tau told the model in this request, besides the user's messages."""
        texts = [str(message.content) for message in self.faux.requests[request].messages]
        return [text for text in texts if "rule_violation" in text]


def write(text: str, path: str = "a.py") -> Use:
    return Use("write", path=path, content=text)


def test_call_that_breaks_a_rule_never_runs_and_the_retry_obeys(tmp_path: Path) -> None:
    run = Run([[write("x\nprint(1)\n")], [write("log(1)\n")], [Say("done")]], NO_PRINT)
    messages = run.go(tmp_path, "go")
    assert (tmp_path / "a.py").read_text() == "log(1)\n"
    assert run.triggered == [(["no-print"], True)]
    assert "print(1)" not in str(run.faux.requests[1].messages)
    [hidden] = run.hidden(1)
    assert 'rule="no-print" path="rules/a.md"' in hidden and "Use the logger." in hidden
    assert [type(message) for message in messages] == [
        *(UserMessage, CustomMessage, AssistantMessage, ToolResultMessage, AssistantMessage)
    ]


def test_interrupted_answer_stays_in_the_context_with_keep(tmp_path: Path) -> None:
    run = Run(
        [[Say("I am sorry, but no", pieces=6)], [Say("No.")]],
        NO_SORRY,
        settings={"ttsr.contextMode": "keep"},
    )
    run.go(tmp_path, "go")
    assert "I am sorry" in str(run.faux.requests[1].messages)
    assert "but no" not in str(run.faux.requests[1].messages)


def test_rule_for_other_files_does_not_trigger(tmp_path: Path) -> None:
    run = Run([[write("print(1)\n", "a.lua")], [Say("done")]], NO_PRINT)
    run.go(tmp_path, "go")
    assert run.triggered == [] and (tmp_path / "a.lua").exists()


def test_reminder_precedes_the_result_of_the_call_and_is_recorded(tmp_path: Path) -> None:
    run = Run([[write("print(1)\n"), write("print(2)\n", "b.py")], [Say("done")]], NO_PRINT, settings=NEVER)
    messages = run.go(tmp_path, "go")
    results = [message for message in messages if isinstance(message, ToolResultMessage)]
    assert [len(result.content) for result in results] == [2, 1]
    assert "Use the logger." in str(results[0].content[0])
    assert run.triggered == [(["no-print"], False)]


def test_prose_reminder_follows_the_answer(tmp_path: Path) -> None:
    run = Run([[Say("Sorry!")], [Say("Understood.")]], NO_SORRY, settings=NEVER)
    messages = run.go(tmp_path, "go")
    assert [type(message) for message in messages] == [
        *(UserMessage, AssistantMessage, CustomMessage, AssistantMessage)
    ]
    assert len(run.hidden(1)) == 1


def test_failed_answer_leaves_no_reminder(tmp_path: Path) -> None:
    script: list[list[FauxStep]] = [
        [write("print(1)\n"), Fail(ProviderError("no"))],
        [write("print(2)\n")],
        [Say("ok")],
    ]
    run = Run(script, NO_PRINT, settings=NEVER)
    run.go(tmp_path, "one", "two")
    assert run.triggered == [(["no-print"], False), (["no-print"], False)]


def test_rule_applies_once_and_again_after_a_gap(tmp_path: Path) -> None:
    once = Run([[Say("sorry")], [Say("fine")], [Say("sorry")]], NO_SORRY)
    once.go(tmp_path, "one", "two")
    assert len(once.triggered) == 1
    again = Run(
        [[Say("sorry")], [Say("fine")], [Say("fine")], [Say("sorry")], [Say("ok")]],
        NO_SORRY,
        settings={"ttsr.repeatMode": "after-gap", "ttsr.repeatGap": 2},
    )
    again.go(tmp_path, "one", "two", "three")
    assert len(again.triggered) == 2


def test_resumed_session_remembers_what_was_applied(tmp_path: Path) -> None:
    Run([[Say("sorry")], [Say("fine")]], NO_SORRY).go(tmp_path, "one")
    later = Run([[Say("sorry")]], NO_SORRY, continue_recent=True)
    later.go(tmp_path, "two")
    assert later.triggered == []


def test_model_that_never_obeys_is_reminded_in_the_end(tmp_path: Path) -> None:
    rules = [make_rule(f"r{n}", "No.", {"condition": f"bad{n}", "scope": "text"}) for n in range(3)]
    run = Run(
        [[Say("bad0")], [Say("bad1")], [Say("bad2")], [Say("ok")]], *rules, settings={"ttsr.maxInterrupts": 2}
    )
    run.go(tmp_path, "go")
    assert [interrupted for _, interrupted in run.triggered] == [True, True, False]


def test_disabled_rules_and_the_switch_are_respected(tmp_path: Path) -> None:
    for settings in (
        {"ttsr.enabled": False},
        {"rules.enabled": False},
        {"ttsr.disabledRules": ["no-sorry"]},
    ):
        run = Run([[Say("sorry")]], NO_SORRY, settings=settings)
        run.go(tmp_path, "go")
        assert run.triggered == []


def test_escape_during_the_wait_wins(tmp_path: Path) -> None:
    class Stopped(Run):
        async def prompt(self, session: Session, text: str) -> None:
            def stop(event: AgentEvent) -> None:
                if isinstance(event, RulesTriggered):
                    asyncio.get_running_loop().call_soon(session.abort)

            session.subscribe(stop)
            outcome = await session.prompt(text)
            assert outcome.aborted

    run = Stopped([[Say("sorry, no"), Wait(None)], [Say("never asked")]], NO_SORRY)
    run.go(tmp_path, "go")
    assert len(run.faux.requests) == 1


def test_switch_to_another_session_during_the_wait_wins(tmp_path: Path) -> None:
    class Left(Run):
        async def prompt(self, session: Session, text: str) -> None:
            closing: list[asyncio.Task[None]] = []

            def leave(event: AgentEvent) -> None:
                if isinstance(event, RulesTriggered):
                    closing.append(asyncio.get_running_loop().create_task(session.close()))

            session.subscribe(leave)
            outcome = await session.prompt(text)
            await closing[0]
            assert outcome.aborted

    run = Left([[Say("sorry, no"), Wait(None)], [Say("never asked")]], NO_SORRY)
    run.go(tmp_path, "go")
    assert len(run.faux.requests) == 1


def test_failure_of_the_retry_is_reported_and_the_rule_is_not_lost(tmp_path: Path) -> None:
    class Failing(Run):
        async def prompt(self, session: Session, text: str) -> None:
            outcome = await session.prompt(text)
            failures.append(str(outcome.error))

    failures: list[str] = []
    fails = Fail(ProviderError("The server is gone."))
    run = Failing([[Say("sorry")], [fails], [Say("fine")]], NO_SORRY, settings={"retry.enabled": False})
    run.go(tmp_path, "go", "again")
    assert "The server is gone." in failures[0] and failures[1] == "None"
    assert len(run.hidden(1)) == len(run.hidden(2)) == 1


def test_message_typed_during_the_wait_goes_with_the_retry(tmp_path: Path) -> None:
    class Steered(Run):
        async def prompt(self, session: Session, text: str) -> None:
            def steer(event: AgentEvent) -> None:
                if isinstance(event, RulesTriggered):
                    session.steer("in German please")

            session.subscribe(steer)
            await session.prompt(text)

    run = Steered([[Say("sorry")], [Say("Nein.")]], NO_SORRY)
    run.go(tmp_path, "go")
    assert len(run.faux.requests) == 2 and "in German" in str(run.faux.requests[1].messages[-1])


def test_code_pattern_stops_a_call_wherever_it_is_written(tmp_path: Path) -> None:
    rule = make_rule(
        "no-eval",
        "Parse it.",
        {"astCondition": "eval($X)", "scope": "tool:write, tool:edit", "globs": "*.py"},
    )
    harmless, bad = 'text = "eval(1)"\n', "def f(a):\n    return eval(\n        a)\n"
    run = Run([[write(harmless)], [write(bad)], [write("ok\n")], [Say("done")]], rule)
    run.go(tmp_path, "go")
    assert run.triggered == [(["no-eval"], True)]
    assert (tmp_path / "a.py").read_text() == "ok\n"


def test_thinking_is_watched_only_if_the_rule_says_so(tmp_path: Path) -> None:
    from tau.ai.faux import Think

    thinking = make_rule("calm", "Stay calm.", {"condition": "panic", "scope": ["thinking"]})
    everywhere = make_rule("calm", "Stay calm.", {"condition": "panic"})
    for rule, count in ((thinking, 1), (everywhere, 0)):
        run = Run([[Think("panic!"), Say("a")], [Say("b")]], rule)
        run.go(tmp_path, "go")
        assert len(run.triggered) == count


@pytest.mark.parametrize("mode", ["prose-only", "tool-only"])
def test_interrupt_mode_of_a_rule_and_of_the_settings(tmp_path: Path, mode: str) -> None:
    own = make_rule("own", "No.", {"condition": "sorry", "interruptMode": "always", "scope": "text"})
    script: list[list[FauxStep]] = [[Say("sorry")], [write("print(1)\n")], [write("x\n")], [Say("ok")]]
    run = Run(script, NO_SORRY, NO_PRINT, settings={"ttsr.interruptMode": mode})
    run.go(tmp_path, "go")
    assert [interrupted for _, interrupted in run.triggered] == [mode == "prose-only", mode == "tool-only"]
    overruled = Run([[Say("sorry")], [Say("ok")]], own, settings={"ttsr.interruptMode": mode})
    overruled.go(tmp_path, "go")
    assert overruled.triggered == [(["own"], True)]


def test_interrupted_output_counts_in_the_cost(tmp_path: Path) -> None:
    from tau.ai.faux import Count

    class Counted(Run):
        async def prompt(self, session: Session, text: str) -> None:
            await session.prompt(text)
            assert session.stats.usage.output == 12

    Counted([[Count(1, 7), Say("sorry")], [Count(1, 5), Say("ok")]], NO_SORRY).go(tmp_path, "go")


def test_second_session_of_rules_is_off_without_any(tmp_path: Path) -> None:
    stopped: list[str] = []
    run = Run([[Say("sorry"), Act(lambda: stopped.append("went on"))]])
    run.go(tmp_path, "go")
    assert stopped == ["went on"] and run.triggered == []


def test_rules_that_come_with_tau_judge_what_is_written_not_what_is_removed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("try:\n    x()\nexcept:\n    pass\n")
    settings = {"edit.mode": "replace", "tools.approvalMode": "yolo"}
    fix = Use("edit", path="a.py", old_text="except:\n    pass", new_text="except OSError:\n    pass")
    again = Use("edit", path="a.py", old_text="except OSError:\n    pass", new_text="except:\n    pass\n")
    run = Run([[Use("read", path="a.py")], [fix], [again], [Say("done")]], settings=settings)
    run.go(tmp_path, "go")
    assert run.triggered == [(["python-bare-except"], False)]
    assert [bool(run.hidden(request)) for request in (1, 2, 3)] == [False, False, True]
    elided = Run([[write("a\n# ... rest of the code\nb\n")], [Say("done")]])
    elided.go(tmp_path, "go")
    assert elided.triggered == [(["elided-code"], True)]


def test_rule_file_of_a_project_counts_once_the_project_is_trusted(tmp_path: Path) -> None:
    rules = tmp_path / ".tau" / "rules"
    rules.mkdir(parents=True)
    (rules / "no-sorry.md").write_text("---\ncondition: sorry\nscope: text\n---\nDo not apologize.\n")
    for trust in (False, True):
        run = Run([[Say("sorry, no")], [Say("ok")]], trust=trust)
        run.go(tmp_path, "go")
        assert run.triggered == ([(["no-sorry"], True)] if trust else [])
        assert not trust or "Do not apologize." in run.hidden(1)[0]


def test_rulebook_is_listed_and_read_by_url(tmp_path: Path) -> None:
    rules = tmp_path / ".cursor" / "rules"
    rules.mkdir(parents=True)
    (rules / "api.mdc").write_text("---\ndescription: Use when: API\nglobs: *.ts,*.tsx\n---\nBe terse.\n")
    (rules / "all.mdc").write_text("---\nalwaysApply: true\n---\nBe brief.\n")
    run = Run([[Use("read", path="rule://api")], [Say("done")]])
    messages = run.go(tmp_path, "go")
    system = run.faux.requests[0].system
    assert "- api: Use when: API (for *.ts, *.tsx)" in system and "Be brief." in system
    [result] = [message for message in messages if isinstance(message, ToolResultMessage)]
    assert "Be terse." in str(result.content)
