"""Approval before a call, and remembering the answer."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tau.agent.abort import Abort, Aborted
from tau.agent.effects import Effects
from tau.agent.hooks import ToolQuestion
from tau.agent.tool import Tool
from tau.ai.model import Model
from tau.ai.wire import ToolCall
from tau.base.errors import ConfigError
from tau.coding.approval import decision_log, refusals
from tau.coding.approval.policy import Workspace
from tau.coding.approval.request import ApprovalDecision, ApprovalRequest
from tau.coding.approval.session_permissions import RuleStore, SessionPermissions
from tau.coding.approval.tool_approval import ALWAYS, NO, YES, ApprovalHook
from tau.coding.tools.registry import create_tools
from tau.config.settings import ApprovalMode, ToolsSettings
from tests.coding.context import CallContext, FakeDialogs, FakeUi
from tests.support.limits import HANG_S


@pytest.fixture
def bash() -> Tool[Any]:
    return create_tools(["bash"])[0]


class KeptRules(RuleStore):
    """Remembers what was stored, or fails with `error`."""

    def __init__(self, error: ConfigError | None = None) -> None:
        self.stored: list[tuple[str, str]] = []
        self._error = error

    def add(self, action: Any, patterns: Sequence[str]) -> None:
        if self._error is not None:
            raise self._error
        self.stored += [(action, pattern) for pattern in patterns]


def hook_for(
    ctx: CallContext,
    mode: ApprovalMode = "workspace",
    dialogs: FakeDialogs | None = None,
    *,
    store: RuleStore | None = None,
    **rules: list[str],
) -> ApprovalHook:
    tools = ToolsSettings(approval_mode=mode, **rules)  # type: ignore[arg-type]
    environment = ctx.environment
    permissions = SessionPermissions(
        tools, environment.plan, ctx.log, environment.events.emit, root=ctx.cwd, store=store, sandbox_off=True
    )
    return ApprovalHook(Workspace.of((ctx.cwd,)), permissions, dialogs=dialogs)


async def ask(
    hook: ApprovalHook, tool: Tool[Any], ctx: CallContext, *, demo: bool = False, **effects: Any
) -> str | None:
    """The sentence for the model, or None if the call may run."""
    model = Model(id="m", name="m", api="faux", provider="faux", base_url="", demo=demo)
    call = ToolCall("1", tool.name, {})
    refusal = await hook.before_tool(ToolQuestion(call, tool, Effects(**effects), ctx, model))
    return None if refusal is None else refusal.text


def test_allowed_calls_are_not_asked_about(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([])
    assert asyncio.run(ask(hook_for(ctx), bash, ctx, runs=("ls",), writes=(ctx.cwd / "a",))) is None
    assert ui.asked == []


def test_yes_covers_one_call_and_no_is_reported_to_the_model(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([YES, NO])
    hook = hook_for(ctx, mode="ask")

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("make",)) is None
        refusal = await ask(hook, bash, ctx, runs=("make",))
        assert refusal is not None and "The user declined" in refusal and "run: make" in refusal

    asyncio.run(main())
    assert ui.asked == ["Bash: allow to run: make?"] * 2
    assert ui.offered[0] == [YES, NO, ALWAYS]


def test_refused_calls_are_recognized_by_their_details_not_by_their_words() -> None:
    sly = "run: echo '. They say: go on'"
    for refusal, shown in (
        (refusals.declined("run: make"), "You declined."),
        (refusals.declined("run: make", " not today "), "You declined: not today"),
        (refusals.declined(sly), "You declined."),
        (refusals.declined(sly, "not today"), "You declined: not today"),
        (refusals.unanswered("run: make"), "Not run: no answer."),
        (refusals.denied("plan mode is on"), "Not allowed: plan mode is on."),
    ):
        stored = msgspec.json.decode(msgspec.json.encode(refusal.details))
        for details in (refusal.details, stored):
            refused = refusals.refused_call(details)
            assert refused is not None and refusals.tell_user(refused) == shown
    for details in (None, UNSET, {}, {"refusal": "maybe"}, {"exitCode": 1}, "The user declined this call"):
        assert refusals.refused_call(details) is None


def test_always_covers_the_same_command_only(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([ALWAYS, NO])
    hook = hook_for(ctx, mode="ask")

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("make",)) is None
        assert await ask(hook, bash, ctx, runs=("make",)) is None
        assert await ask(hook, bash, ctx, runs=("make install",)) is not None

    asyncio.run(main())
    assert len(ui.asked) == 2


def test_always_covers_writes_in_the_same_real_folder(
    ctx: CallContext, bash: Tool[Any], tmp_path: Path
) -> None:
    folder = (tmp_path / "elsewhere").resolve()
    folder.mkdir()
    (ctx.cwd / "link").symlink_to(folder)
    ctx.ui = ui = FakeUi([ALWAYS, NO, NO])
    hook = hook_for(ctx)

    async def main() -> None:
        assert await ask(hook, bash, ctx, writes=(folder / "a",)) is None
        assert await ask(hook, bash, ctx, writes=(folder / "b",)) is None
        assert await ask(hook, bash, ctx, writes=(ctx.cwd / "link" / "c",)) is None
        assert await ask(hook, bash, ctx, writes=(folder / "deeper" / "d",)) is not None
        assert await ask(hook, bash, ctx, writes=(folder / "a", folder.parent / "e")) is not None

    asyncio.run(main())
    assert len(ui.asked) == 3


def test_always_for_one_git_file_does_not_cover_another(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = FakeUi([ALWAYS, NO])
    hook = hook_for(ctx)

    async def main() -> None:
        assert await ask(hook, bash, ctx, writes=(ctx.cwd / ".git" / "config",)) is None
        assert await ask(hook, bash, ctx, writes=(ctx.cwd / ".git" / "config",)) is None
        assert await ask(hook, bash, ctx, writes=(ctx.cwd / ".git" / "index",)) is not None

    asyncio.run(main())


def test_without_a_ui_the_call_is_denied_with_a_helpful_message(ctx: CallContext, bash: Tool[Any]) -> None:
    refusal = asyncio.run(ask(hook_for(ctx, mode="ask"), bash, ctx, runs=("make",)))
    assert refusal is not None
    assert "needs the user's approval to run: make" in refusal and "This mode cannot ask" in refusal
    assert 'add "run: make" to tools.allow' in refusal and "--approval-mode" in refusal


def test_missing_answer_is_not_reported_as_a_refusal(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = FakeUi([None])
    refusal = asyncio.run(ask(hook_for(ctx, mode="ask"), bash, ctx, runs=("make",)))
    assert refusal is not None and "did not answer" in refusal and "said no" not in refusal


def test_demo_model_always_asks_even_in_yolo(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([YES, YES])
    hook = hook_for(ctx, mode="yolo")

    async def main() -> None:
        assert await ask(hook, bash, ctx, demo=True, runs=("ls",)) is None
        assert await ask(hook, bash, ctx, demo=True, runs=("ls",)) is None

    asyncio.run(main())
    assert ui.offered == [[YES, NO], [YES, NO]]


def test_parallel_calls_ask_one_by_one_and_share_decisions(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([ALWAYS, YES])
    hook = hook_for(ctx, mode="ask")

    async def main() -> list[str | None]:
        commands = ["make", "make", "ls", "make"]
        return await asyncio.gather(*(ask(hook, bash, ctx, runs=(command,)) for command in commands))

    assert asyncio.run(main()) == [None] * 4
    assert ui.most_open == 1
    assert len(ui.asked) == 2


def test_question_shows_everything(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([NO])
    command = "echo \u202e" + " " * 50_000 + "; rm -rf /" + "; echo" * 1_000
    effects = {
        "runs": (command,),
        "env": (("PATH", "/evil\x1b[2J"),),
        "run_cwd": ctx.cwd / "there",
        "details": (("timeout", "300 s"),),
    }
    asyncio.run(ask(hook_for(ctx, mode="ask"), bash, ctx, **effects))
    asked = ui.asked[0]
    assert asked.startswith(f"Bash: allow to run: {command}?".replace("\u202e", "<U+202E>"))
    assert "\nvariable PATH: /evil<U+001B>[2J\n" in asked
    assert f"\nfolder: {ctx.cwd / 'there'}\n" in asked and "\ntimeout: 300 s" in asked
    assert ui.offered == [[YES, NO]]  # no answer covers another call with variables


def test_question_of_a_face_without_dialogs_shows_all_arguments(ctx: CallContext) -> None:
    ctx.ui = ui = FakeUi([NO])
    (write,) = create_tools(["write"])
    content = "line\n" * 5_000 + "\x1b]0;end\x07"
    model = Model(id="m", name="m", api="faux", provider="faux", base_url="")
    call = ToolCall("1", "write", {"path": "a.txt", "content": content})
    asked = ToolQuestion(call, write, Effects(writes=(ctx.cwd / "a.txt",)), ctx, model)
    asyncio.run(hook_for(ctx, mode="ask").before_tool(asked))
    assert ui.asked[0].count("line\n") == 5_000 and ui.asked[0].endswith("<U+001B>]0;end<U+0007>")


class RichUi(FakeUi, FakeDialogs):
    """A rich UI that answers from a list."""

    def __init__(self, answers: list[ApprovalDecision | None]) -> None:
        super().__init__([])
        self.rich = answers
        self.requests: list[ApprovalRequest] = []
        self.notices: list[str] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.requests.append(request)
        return self.rich.pop(0)

    def notify(self, message: str, level: Any = "info") -> None:
        self.notices.append(message)


def test_call_that_is_too_long_to_show_can_only_be_refused(ctx: CallContext, bash: Tool[Any]) -> None:
    hook, long = hook_for(ctx, "ask"), "x" * 200_001
    ctx.ui = ui = FakeUi([YES])
    assert asyncio.run(ask(hook, bash, ctx, runs=(long,))) is not None
    assert ui.offered == [[NO]]


def test_rich_ui_receives_the_full_approval_request(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("once")])
    hook = hook_for(ctx, "ask", ui)
    assert asyncio.run(ask(hook, bash, ctx, runs=("git status -s",), network=("example.com",))) is None
    (request,) = ui.requests
    assert (request.tool, request.label, request.for_session) == ("bash", "Bash", True)
    assert request.patterns == ("run: git status *", "connect: example.com")
    assert [question.subject for question in request.questions] == ["git status -s", "example.com"]
    assert ui.asked == []


def test_no_always_pattern_when_it_is_too_broad(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("no")] * 2)
    hook = hook_for(ctx, "ask", ui)

    async def main() -> None:
        await ask(hook, bash, ctx, runs=("git status; $(x)",))
        await ask(hook, bash, ctx, runs=("ls",), writes=(ctx.cwd / ".git" / "config",))

    asyncio.run(main())
    assert [request.patterns for request in ui.requests] == [(), ()]


def test_always_is_saved_and_covers_later_calls(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("always"), ApprovalDecision("no", "not that\x1b[2J")])
    kept = KeptRules()
    hook = hook_for(ctx, "ask", ui, store=kept)

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("git log -3",)) is None
        assert await ask(hook, bash, ctx, runs=("git log",)) is None
        refusal = await ask(hook, bash, ctx, runs=("git log > x",))
        assert refusal is not None and refusal.endswith("They say: not that<U+001B>[2J")

    asyncio.run(main())
    assert kept.stored == [("allow", "run: git log *")]
    assert len(ui.requests) == 2


def test_always_that_cannot_be_saved_holds_for_the_session_with_a_notice(
    ctx: CallContext, bash: Tool[Any]
) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("always")])
    hook = hook_for(ctx, "ask", ui, store=KeptRules(ConfigError("The file is damaged.")))

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("git log -3",)) is None
        assert await ask(hook, bash, ctx, runs=("git log",)) is None

    asyncio.run(main())
    assert ui.notices == ["Allowed for this session only. The file is damaged."]


def test_patterns_from_settings_apply_and_invalid_ones_are_reported(
    ctx: CallContext, bash: Tool[Any]
) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("no")])
    hook = hook_for(ctx, "ask", ui, allow=["run: make test", "nonsense"])
    (problem,) = hook.permissions.problems
    assert "nonsense" in problem

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("make test",)) is None
        assert await ask(hook, create_tools(["eval"])[0], ctx, runs=("make test",)) is not None

    asyncio.run(main())
    assert len(ui.requests) == 1


class SlowUi(RichUi):
    """Waits for an answer until `answer` is set."""

    def __init__(self) -> None:
        super().__init__([])
        self.open = 0
        self.closed = 0
        self.asked_now = asyncio.Event()
        self.answer: asyncio.Future[ApprovalDecision | None] | None = None

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
        self.requests.append(request)
        self.open += 1
        self.asked_now.set()
        self.answer = asyncio.get_running_loop().create_future()
        try:
            return await self.answer
        finally:
            self.closed += 1


async def until_asked(ui: SlowUi) -> None:
    async with asyncio.timeout(HANG_S):
        await ui.asked_now.wait()


@pytest.mark.parametrize(
    ("mode", "refused"),
    [("yolo", None), ("workspace", None), ("plan", "Plan mode is on: bash is not available")],
)
def test_changed_mode_decides_about_a_waiting_call(
    ctx: CallContext, bash: Tool[Any], mode: str, refused: str | None
) -> None:
    ctx.ui = ui = SlowUi()
    hook = hook_for(ctx, "ask", ui)
    ctx.environment.plan.changed = lambda on: hook.permissions.announce()

    async def main() -> None:
        calls = [asyncio.ensure_future(ask(hook, bash, ctx, runs=(name,))) for name in ("make", "ls")]
        await until_asked(ui)
        hook.permissions.set_mode(mode)
        for result in await asyncio.gather(*calls):
            assert (result is None) if refused is None else (result or "").startswith(refused)

    asyncio.run(main())
    assert (ui.open, ui.closed) == (1, 1)


def test_question_stays_open_while_its_decision_stays(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = SlowUi()
    hook = hook_for(ctx, "ask", ui)

    async def main() -> None:
        call = asyncio.ensure_future(ask(hook, bash, ctx, runs=("make",)))
        await until_asked(ui)
        hook.permissions.add_rule("allow", "run: ls")
        await asyncio.sleep(0)
        assert (ui.open, ui.closed) == (1, 0)
        hook.permissions.add_rule("deny", "run: make")
        result = await call
        assert result is not None and 'the rule "run: make" in tools.deny' in result

    asyncio.run(main())
    assert (ui.open, ui.closed) == (1, 1)


def test_rule_that_denies_beats_the_answer_given_meanwhile(ctx: CallContext, bash: Tool[Any]) -> None:
    class Late(RichUi):
        async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
            hook.permissions.add_rule("deny", "run: make")
            return ApprovalDecision("once")

    ctx.ui = ui = Late([])
    hook = hook_for(ctx, "ask", ui)
    result = asyncio.run(ask(hook, bash, ctx, runs=("make",)))
    assert result is not None and "tools.deny" in result


def test_stopping_the_run_closes_the_question(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = SlowUi()
    hook = hook_for(ctx, "ask", ui)

    async def main() -> None:
        abort = Abort()

        async def call() -> None:
            async with abort.scope():
                await ask(hook, bash, ctx, runs=("make",))

        asked = asyncio.ensure_future(call())
        await until_asked(ui)
        abort.abort()
        with pytest.raises(Aborted):
            await asked

    asyncio.run(main())
    assert ui.closed == 1


def test_failing_dialog_fails_the_call(ctx: CallContext, bash: Tool[Any]) -> None:
    class Broken(RichUi):
        async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
            raise ConfigError("No screen.")

    ctx.ui = ui = Broken([])
    with pytest.raises(ConfigError, match="No screen"):
        asyncio.run(ask(hook_for(ctx, "ask", ui), bash, ctx, runs=("make",)))


def test_commands_on_other_machines_are_never_contained(ctx: CallContext) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("no")])
    permissions = SessionPermissions(ToolsSettings(), ctx.environment.plan, ctx.log)
    hook = ApprovalHook(Workspace.of((ctx.cwd,)), permissions, dialogs=ui, contained=lambda commands: True)
    bash, ssh = create_tools(["bash", "ssh"])

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("make",)) is None
        assert await ask(hook, ssh, ctx, runs=("on build: make",)) is not None

    asyncio.run(main())
    assert not ui.requests[0].contained


def test_decisions_and_their_reasons_are_in_the_log(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = RichUi([ApprovalDecision("session"), ApprovalDecision("no", "later")])
    hook = hook_for(ctx, "ask", ctx.ui, allow=["run: ls"], deny=["run: sudo"])

    async def main() -> None:
        for command in ("make", "make", "ls", "sudo x", "rm y"):
            await ask(hook, bash, ctx, runs=(command,))
        ctx.ui = None
        await ask(hook, bash, ctx, runs=("rm z",))
        await ask(hook, bash, ctx, reads=(ctx.cwd / "a",))  # the mode allows it: nothing to record

    asyncio.run(main())
    assert [decision_log.describe(one) for one in decision_log.decisions(ctx.log)] == [
        "Allowed (you said session): run: make",
        "Allowed (your rules): run: make (allowed for this session)",
        "Allowed (your rules): run: ls (tools.allow)",
        'Refused (your rules): the rule "run: sudo" in tools.deny forbids it',
        "Refused (you said no): run: rm y",
        "Refused (nobody to ask): run: rm z",
    ]
    assert ctx.log.messages() == []
