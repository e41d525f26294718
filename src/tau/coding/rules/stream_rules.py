"""Rules that watch what the model streams: they interrupt it and ask again, or remind it afterwards."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from tau.agent.abort import Abort
from tau.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentStart,
    MessageEnd,
    Notice,
    RulesTriggered,
    TriggeredRule,
)
from tau.agent.hooks import Hooks
from tau.agent.output import ToolOutput
from tau.agent.queue import Queue
from tau.ai import dialect as d
from tau.ai.dialect import Delta
from tau.ai.wire import AssistantMessage, CustomMessage, TextContent, ToolCall
from tau.base import log as log_file
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, NothingToDo, SessionError, StreamInterrupted, TauError
from tau.base.late import late
from tau.coding.session.entries import CustomMessageEntry, RuleInjection
from tau.coding.session.reminder_queue import remove_reminders
from tau.coding.session.storage.log import SessionLog
from tau.config.discovery_settings import StreamRuleSettings

if TYPE_CHECKING:
    from tau.coding.rules.injections import InjectedRules
    from tau.coding.rules.rule import RuleFile, Source

# Most answers write no file, and no rule is about their text.
injections = late("tau.coding.rules.injections")
patterns = late("tau.coding.rules.patterns")
retry = late("tau.coding.session.retry")
streamed_answer = late("tau.coding.rules.streamed_answer")

INJECTION: Final = "ttsr-injection"
RETRY_DELAY_S = 0.05

_INTERRUPT = (
    '<system-interrupt reason="rule_violation" rule="{name}" path="{path}">\n'
    "Your last answer was stopped: it breaks a rule of this project. Answer again and follow the rule.\n\n"
    "{content}\n</system-interrupt>"
)
_REMINDER = (
    '<system-reminder reason="rule_violation" rule="{name}" path="{path}">\n'
    "Your last answer breaks a rule of this project. Correct what you did where it still applies, and follow "
    "the rule from now on.\n\n{content}\n</system-reminder>"
)


_CALLS: frozenset[type] = frozenset({d.CallStart, d.CallPiece, d.CallEnd})
_ALL = _CALLS | {d.TextPiece, d.ThinkingPiece, d.BlockEnd, d.Done}


class StreamRules(Hooks):
    """One per session: watches its answers; `observe` gets every event.

    What comes with tau is loaded, and anything compiled, once there is text that it could match.
    """

    def __init__(
        self,
        rules: "Sequence[RuleFile]",
        bundled: "Callable[[], Sequence[RuleFile]] | None",
        settings: StreamRuleSettings,
        log: SessionLog,
        queue: Queue,
        emit: Callable[[AgentEvent], None],
    ) -> None:
        self._rules = _usable(rules, settings)
        self._bundled = bundled if settings.builtin_rules else None
        self._settings = settings
        self._log = log
        self._queue = queue
        self._emit = emit
        self._injected: InjectedRules | None = None
        self._compiled: patterns.RulePatterns | None = None
        self._interrupts = 0  # since the last prompt
        self._answer: streamed_answer.StreamedAnswer | None = None
        self._eligible: dict[str, RuleFile] | None = None  # what the current answer can still trigger
        self._pending: list[RuleFile] = []  # what the interrupted answer is asked to follow
        self._deferred: list[RuleFile] = []  # for after the answer
        self._by_call: dict[int, list[RuleFile]] = {}  # by the position of the call in the answer
        self._reminders: dict[str, list[RuleFile]] = {}  # by the call's id

    def begin_answer(self) -> "StreamRules":
        self._answer, self._eligible = None, None
        self._by_call, self._deferred, self._pending = {}, [], []
        return self

    @property
    def kinds(self) -> frozenset[type]:
        """Prose costs nothing where rules are only about calls, as those that come with tau are."""
        prose = any(rule.covers("text") or rule.covers("thinking") for rule in self._rules)
        return _ALL if prose else _CALLS

    async def check(self, delta: Delta) -> None:
        if self._answer is None:
            self._answer = streamed_answer.StreamedAnswer(self)
        await self._answer.check(delta)

    def covering(self, source: "Source", tool: str = "") -> "list[RuleFile]":
        """Rules that text of this kind may still trigger."""
        if source == "tool" and tool in ("edit", "write") and self._bundled is not None:
            names = {rule.name for rule in self._rules}
            added = [rule for rule in self._bundled() if rule.name not in names]
            self._rules += _usable(added, self._settings)
            self._bundled = self._compiled = self._eligible = None
        if self._eligible is None:
            if self._injected is None:
                self._injected = injections.InjectedRules(self._log, self._settings)
            self._eligible = self._injected.select(self._rules)
        return [rule for rule in self._eligible.values() if rule.covers(source, tool)]

    @property
    def compiled(self) -> "patterns.RulePatterns":
        if self._compiled is None:
            self._compiled = patterns.RulePatterns(self._rules)
            for name, problems in self._compiled.problems.items():
                log_file.warning(f"The rule {name} is incomplete: {'; '.join(problems)}.")
        return self._compiled

    async def search(self, texts: Sequence[str], rules: "Sequence[RuleFile]") -> "list[RuleFile]":
        """Which rules match complete text; long text is searched off the loop."""
        if sum(map(len, texts)) > streamed_answer.MAX_CHARS_ON_LOOP:
            found, notices = await asyncio.to_thread(self.compiled.search, texts, rules)
        else:
            found, notices = self.compiled.search(texts, rules)
        for notice in notices:
            self._emit(Notice("warning", notice, "rules"))
        return found

    def trigger(self, matched: "Sequence[RuleFile]", source: "Source", call: int = -1) -> None:
        """Interrupt the answer, or remember to remind the model. A rule counts once per answer."""
        eligible = self._eligible or {}
        rules = [rule for rule in matched if eligible.pop(rule.name, None) is not None]
        if not rules:
            return
        interrupts = self._may_interrupt(rules, source)
        shown = [TriggeredRule(rule.name, rule.path, _body(rule)) for rule in rules]
        self._emit(RulesTriggered(shown, interrupts))
        if interrupts:
            self._interrupts += 1
            self._pending = [*self._deferred, *rules]
            self._deferred, self._by_call = [], {}
            names = ", ".join(rule.name for rule in rules)
            raise StreamInterrupted(f"Interrupted by the rule {names}.")
        if source == "tool":
            self._by_call.setdefault(call, []).extend(rules)
        else:
            self._deferred += rules

    def _may_interrupt(self, rules: "Sequence[RuleFile]", source: "Source") -> bool:
        if self._interrupts >= self._settings.max_interrupts:
            return False
        allowed = ("always", "tool-only" if source == "tool" else "prose-only")
        return any((rule.interrupt_on or self._settings.interrupt_mode) in allowed for rule in rules)

    async def prepare_retry(self, abort: Abort) -> None:
        """Leave the interrupted answer and tell the model which rules to follow. Raises Aborted."""
        async with abort.scope():
            await asyncio.sleep(RETRY_DELAY_S)
        rules, self._pending = self._pending, []
        if self._settings.context_mode == "discard":
            try:
                retry.rewind_failed_turn(self._log)
            except NothingToDo as error:
                log_file.error("An interrupted answer could not be left.", error)
        message = _message(rules, _INTERRUPT)
        text, names = message.content, message.details
        entry = CustomMessageEntry(custom_type=INJECTION, content=text, display=False, details=names)
        self._log.append(entry)
        self._record(rules)

    def observe(self, event: AgentEvent) -> None:
        """Called with every event, after all subscribers."""
        match event:
            case AgentStart():
                self._reminders = {}
            case MessageEnd(message=AssistantMessage() as answer):
                self._settle(answer)
            case MessageEnd(message=CustomMessage(custom_type="ttsr-injection", details=dict() as details)):
                names = set(details.get("rules", ()))
                self._record([rule for rule in self._rules if rule.name in names])
            case AgentEnd():
                remove_reminders(self._queue, INJECTION)

    def begin_prompt(self) -> None:
        self._interrupts = 0

    def _settle(self, answer: AssistantMessage) -> None:
        """Decide what becomes of rules that did not interrupt; after a failure, nothing."""
        by_call, self._by_call = self._by_call, {}
        deferred, self._deferred = self._deferred, []
        if answer.stop_reason in ("aborted", "error"):
            return
        for index, rules in by_call.items():
            if index < len(answer.tool_calls):
                self._reminders[answer.tool_calls[index].id] = rules
        if deferred:
            with suppress(TauError):  # the queue is full
                self._queue.aside(_message(deferred, _REMINDER))

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        rules = self._reminders.pop(call.id, None)
        if not rules:
            return output
        self._record(rules)
        reminder = TextContent(str(_message(rules, _REMINDER).content))
        return replace(output, content=[reminder, *output.content])

    def _record(self, rules: "Sequence[RuleFile]") -> None:
        if rules:
            try:
                self._log.append(RuleInjection(injected_rules=[rule.name for rule in rules]))
            except SessionError as error:
                log_file.error("The rules that were applied could not be recorded.", error)


def _usable(rules: "Sequence[RuleFile]", settings: StreamRuleSettings) -> "list[RuleFile]":
    """Those that may stop an answer: not those of a repository that the user does not trust."""
    wanted = (rule for rule in rules if rule.bucket == "stream" and rule.trusted)
    return [rule for rule in wanted if rule.name not in settings.disabled_rules]


def _body(rule: "RuleFile") -> str:
    try:
        return rule.body()
    except ConfigError as error:
        log_file.error(f"The rule {rule.name} cannot be read.", error)
        return rule.description


def _message(rules: "Sequence[RuleFile]", template: str) -> CustomMessage:
    texts = [template.format(name=rule.name, path=rule.path, content=_body(rule)) for rule in rules]
    names = {"rules": [rule.name for rule in rules]}
    return CustomMessage(INJECTION, "\n\n".join(texts), display=False, timestamp=now_ms(), details=names)
