"""Runs the hooks of an event together, combines their answers, and asks about guards that fail."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, json

from tau.agent.events import AgentEvent, Notice
from tau.agent.queue import Queue
from tau.agent.ui import NoticeLevel, Ui
from tau.base import log as log_file
from tau.base.late import late
from tau.base.tasks import spawn
from tau.base.text import sentence
from tau.ext.hooks.hook_files import CommandHook, HookScope, HookTable
from tau.ext.hooks.tool_names import matches, meets

if TYPE_CHECKING:
    from tau.ext.hooks.hook_answer import Decision
    from tau.ext.hooks.hook_run import HookResult

hook_run = late("tau.ext.hooks.hook_run")

STOPPING = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
"""Events whose hooks may end the run."""
RUN, BLOCK, DISABLE = "Run it this time", "Block it", "Disable the hook and run it"


class HookSession(Struct, kw_only=True):
    """What hooks need of the session. `stop` ends the current run; `disable` saves that a hook is off."""

    world: HookScope
    queue: Queue
    emit: Callable[[AgentEvent], None]
    stop: Callable[[], None]
    facts: Callable[[], Mapping[str, Any]]
    on_error: str = "ask"
    ui: Ui | None = None
    disable: Callable[[str], None] = lambda id: None


class HookRecord(Struct):
    """What became of a hook in this session."""

    runs: int = 0
    failures: int = 0
    last: "HookResult | None" = None


class Verdict(Struct):
    """What all hooks of one event said: the strictest decision counts."""

    decision: "Decision" = ""
    reasons: list[str] = []
    contexts: list[str] = []
    updates: list[dict[str, Any]] = []
    stop: str = ""
    failed: "list[HookResult]" = []

    @property
    def reason(self) -> str:
        return " ".join(map(sentence, self.reasons))

    @property
    def context(self) -> str:
        return "\n".join(self.contexts)


class HookDispatcher:
    """Runs the hooks of a session and keeps a record of each. As a context manager, it owns those in the
    background.
    """

    def __init__(self, table: HookTable, session: HookSession) -> None:
        self.table = table
        self.session = session
        self.records: dict[CommandHook, HookRecord] = {}
        self.off: set[str] = set()
        self.stopping = False  # after this turn
        self._one_at_a_time = asyncio.Lock()
        self._group: asyncio.TaskGroup | None = None
        self._background: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "HookDispatcher":
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        group, self._group = self._group, None
        for task in self._background:
            task.cancel()
        if group is not None:
            await group.__aexit__(None, None, None)

    def later(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None] | None:
        """Do this in the background, until the session ends."""
        if self._group is None:
            work.close()
            return None
        task = spawn(self._group, _logged(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        task.add_done_callback(lambda _: work.close())  # if it was canceled before it began
        return task

    def has(self, event: str) -> bool:
        return any(hook.event == event for hook in self.table.active)

    async def ask(
        self,
        event: str,
        fields: Mapping[str, object],
        subjects: Iterable[str] = (),
        values: Sequence[str] = (),
    ) -> Verdict:
        """Run the hooks of an event at the same time, equal ones once, and combine what they say."""
        chosen = self.matching(event, tuple(subjects), values)
        verdict = Verdict()
        if not chosen:
            return verdict
        session = self.session
        payload = json.encode({**session.facts(), "hook_event_name": event, **fields}, enc_hook=str)
        waiting = [hook for hook in chosen if not hook.background]
        for hook in chosen:
            if hook.background:
                self.later(self._run(hook, payload))
        results: list[HookResult] = []
        try:
            async with asyncio.TaskGroup() as group:
                running = [spawn(group, self._run(hook, payload)) for hook in waiting]
            results = [task.result() for task in running]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        for result in results:
            _add(verdict, result)
            if result.answer.message:
                self.emit("info", result.answer.message)
        if verdict.stop and event in STOPPING:
            self.emit("warning", f"A hook stopped the run: {verdict.stop}")
            self.stopping = True
            if event.startswith("Pre"):  # other calls of this answer must not run either
                session.stop()
        if event in ("SessionStart", "SessionEnd", "Notification"):
            self.warn(verdict.failed)
        return verdict

    def matching(self, event: str, subjects: Sequence[str], values: Sequence[str] = ()) -> list[CommandHook]:
        found: dict[tuple[object, ...], CommandHook] = {}
        for hook in self.table.active:
            if hook.event != event or hook.id in self.off:
                continue
            if subjects and not matches(hook.matcher, subjects):
                continue
            if not meets(hook.condition, subjects, values):
                continue
            if hook.once and hook in self.records:
                continue
            found.setdefault((hook.command, hook.args, hook.url, hook.fault and hook.place), hook)
        return list(found.values())

    async def _run(self, hook: CommandHook, payload: bytes) -> "HookResult":
        record = self.records.setdefault(hook, HookRecord())
        record.runs += 1
        result: HookResult = await hook_run.run_hook(hook, payload, self.session.world)
        record.last = result
        if result.answer.failure:
            record.failures += 1
            log_file.warning(failure_text(result))
            if hook.background:
                self.warn([result])
        return result

    async def unless_failed(self, verdict: Verdict, what: str, ui: Ui | None) -> str:
        """Why something may not happen because a guard failed; "" if it may."""
        for result in verdict.failed:
            text = failure_text(result)
            if self.session.on_error == "allow":
                self.warn([result])
                continue
            if self.session.on_error == "block" or ui is None:
                advice = f"fix the hook, or disable it with tau hooks disable {result.hook.id}"
                return f"{text} So {what} is blocked; {advice}."
            async with self._one_at_a_time:
                if result.hook.id in self.off:
                    continue
                answer = await ui.select(f"{text} So it did not check {what}.", (BLOCK, RUN, DISABLE))
            if answer == DISABLE:
                self.off.add(result.hook.id)
                self.session.disable(result.hook.id)
            elif answer != RUN:
                return f"{text} The user blocked {what}."
        return ""

    def warn(self, failed: "Iterable[HookResult]") -> None:
        for result in failed:
            self.emit("warning", failure_text(result))

    def emit(self, level: NoticeLevel, text: str) -> None:
        self.session.emit(Notice(level, text, "hooks"))


def failure_text(result: "HookResult") -> str:
    """What went wrong with which hook, in one sentence."""
    hook = result.hook
    what = f" ({hook.gist})" if hook.gist else ""
    return f"The {hook.event} hook at {hook.place}{what} failed: {result.answer.failure}."


async def _logged(work: Coroutine[object, object, object]) -> None:
    """A failure in the background must not end the session."""
    try:
        await work
    except Exception as error:
        log_file.error("A hook in the background failed.", error)


_ORDER: "Sequence[Decision]" = ("", "allow", "ask", "deny")


def _add(verdict: Verdict, result: "HookResult") -> None:
    answer = result.answer
    if answer.failure:
        verdict.failed.append(result)
        return
    _decide(verdict, answer.decision, [answer.reason] if answer.reason else [])
    if answer.context:
        verdict.contexts.append(answer.context)
    if answer.updated_input is not None:
        verdict.updates.append(answer.updated_input)
    verdict.stop = verdict.stop or answer.stop


def merge(verdict: Verdict, other: Verdict) -> None:
    """Add the verdict on another file of the same call."""
    _decide(verdict, other.decision, other.reasons)
    verdict.contexts += [text for text in other.contexts if text not in verdict.contexts]
    verdict.stop = verdict.stop or other.stop
    known = {result.hook for result in verdict.failed}
    verdict.failed += [result for result in other.failed if result.hook not in known]


def _decide(verdict: Verdict, decision: "Decision", reasons: Sequence[str]) -> None:
    """Deny over ask over allow; only the reasons of the strictest count."""
    if _ORDER.index(decision) > _ORDER.index(verdict.decision):
        verdict.decision, verdict.reasons = decision, []
    if decision == verdict.decision:
        verdict.reasons += [reason for reason in reasons if reason not in verdict.reasons]
