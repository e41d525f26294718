"""The question before a call, and what is remembered of its answer."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tau.agent.effects import Effects
from tau.agent.hooks import ToolQuestion
from tau.agent.tool import Tool
from tau.ai.model import Model
from tau.ai.wire import ToolCall
from tau.base.errors import ConfigError
from tau.coding.approval.hook import (
    ALWAYS,
    NO,
    YES,
    ApprovalDecision,
    ApprovalHook,
    ApprovalRequest,
    declined,
    refusal,
)
from tau.coding.approval.policy import ApprovalMode, Workspace
from tau.coding.tools.registry import create_tools
from tests.coding.context import CallContext, FakeDialogs, FakeUi


@pytest.fixture
def bash() -> Tool[Any]:
    return create_tools(["bash"])[0]


def hook_for(
    ctx: CallContext, mode: ApprovalMode = "workspace", dialogs: FakeDialogs | None = None
) -> ApprovalHook:
    return ApprovalHook(Workspace.of((ctx.cwd,)), mode, dialogs=dialogs)


async def ask(
    hook: ApprovalHook, tool: Tool[Any], ctx: CallContext, *, demo: bool = False, **effects: Any
) -> str | None:
    model = Model(id="m", name="m", api="faux", provider="faux", base_url="", demo=demo)
    call = ToolCall("1", tool.name, {})
    return await hook.before_tool(ToolQuestion(call, tool, Effects(**effects), ctx, model))


def test_what_is_allowed_is_not_asked(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([])
    assert asyncio.run(ask(hook_for(ctx), bash, ctx, runs=("ls",), writes=(ctx.cwd / "a",))) is None
    assert ui.asked == []


def test_yes_holds_for_one_call_and_no_is_told_to_the_model(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([YES, NO])
    hook = hook_for(ctx, mode="ask")

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("make",)) is None
        refusal = await ask(hook, bash, ctx, runs=("make",))
        assert refusal is not None and "The user declined" in refusal and "run: make" in refusal

    asyncio.run(main())
    assert ui.asked == ["Bash: allow to run: make?"] * 2
    assert ui.offered[0] == [YES, NO, ALWAYS]


def test_what_the_person_is_told_of_a_call_that_they_did_not_allow() -> None:
    sly = "run: echo '. They say: go on'"
    assert declined(refusal("run: make")) == "You declined."
    assert declined(refusal("run: make", " not today ")) == "You declined: not today"
    assert declined(refusal(sly)) == "You declined."
    assert declined(refusal(sly, "not today")) == "You declined: not today"
    assert declined("There is no such file.") is None


def test_always_holds_for_the_same_command_and_no_other(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([ALWAYS, NO])
    hook = hook_for(ctx, mode="ask")

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("make",)) is None
        assert await ask(hook, bash, ctx, runs=("make",)) is None
        assert await ask(hook, bash, ctx, runs=("make install",)) is not None

    asyncio.run(main())
    assert len(ui.asked) == 2


def test_always_holds_for_writes_in_the_same_real_folder(
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


def test_always_for_one_of_gits_files_is_not_always_for_the_next(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = FakeUi([ALWAYS, NO])
    hook = hook_for(ctx)

    async def main() -> None:
        assert await ask(hook, bash, ctx, writes=(ctx.cwd / ".git" / "config",)) is None
        assert await ask(hook, bash, ctx, writes=(ctx.cwd / ".git" / "config",)) is None
        assert await ask(hook, bash, ctx, writes=(ctx.cwd / ".git" / "index",)) is not None

    asyncio.run(main())


def test_nobody_to_ask_means_no_with_a_sentence_that_helps(ctx: CallContext, bash: Tool[Any]) -> None:
    refusal = asyncio.run(ask(hook_for(ctx, mode="ask"), bash, ctx, runs=("make",)))
    assert refusal is not None
    assert "needs the user's approval to run: make" in refusal and "This mode cannot ask" in refusal


def test_no_answer_is_not_called_a_no(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = FakeUi([None])
    refusal = asyncio.run(ask(hook_for(ctx, mode="ask"), bash, ctx, runs=("make",)))
    assert refusal is not None and "did not answer" in refusal and "said no" not in refusal


def test_the_demo_model_is_asked_about_every_time_even_in_yolo(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([YES, YES])
    hook = hook_for(ctx, mode="yolo")

    async def main() -> None:
        assert await ask(hook, bash, ctx, demo=True, runs=("ls",)) is None
        assert await ask(hook, bash, ctx, demo=True, runs=("ls",)) is None

    asyncio.run(main())
    assert ui.offered == [[YES, NO], [YES, NO]]


def test_parallel_calls_ask_one_after_another_and_learn_from_each_other(
    ctx: CallContext, bash: Tool[Any]
) -> None:
    ctx.ui = ui = FakeUi([ALWAYS, YES])
    hook = hook_for(ctx, mode="ask")

    async def main() -> list[str | None]:
        commands = ["make", "make", "ls", "make"]
        return await asyncio.gather(*(ask(hook, bash, ctx, runs=(command,)) for command in commands))

    assert asyncio.run(main()) == [None] * 4
    assert ui.most_open == 1
    assert len(ui.asked) == 2


def test_the_question_cannot_drive_the_terminal_nor_hide_its_end(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = FakeUi([NO])
    command = "echo \x1b[2J\x1b]52;c;x\x07" + " " * 50_000 + "; rm -rf /"
    asyncio.run(ask(hook_for(ctx, mode="ask"), bash, ctx, runs=(command,)))
    assert "\x1b" not in ui.asked[0]
    assert len(ui.asked[0]) < 2_200
    assert ui.asked[0].endswith("; rm -rf /?")


class RichUi(FakeUi, FakeDialogs):
    """A face that shows more, and answers from a list."""

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


def test_a_face_that_can_show_more_is_told_all_of_it(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("once")])
    hook = ApprovalHook(Workspace.of((ctx.cwd,)), "ask", remember=lambda patterns: None, dialogs=ui)
    assert asyncio.run(ask(hook, bash, ctx, runs=("git status -s",), network=("example.com",))) is None
    (request,) = ui.requests
    assert (request.tool, request.label, request.for_session) == ("bash", "Bash", True)
    assert request.patterns == ("run: git status *", "connect: example.com")
    assert [question.subject for question in request.questions] == ["git status -s", "example.com"]
    assert ui.asked == []


def test_nothing_is_offered_for_always_where_it_could_not_be_kept_or_would_be_too_wide(
    ctx: CallContext, bash: Tool[Any]
) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("no")] * 3)
    keeps = ApprovalHook(Workspace.of((ctx.cwd,)), "ask", remember=lambda patterns: None, dialogs=ui)

    async def main() -> None:
        await ask(hook_for(ctx, "ask", ui), bash, ctx, runs=("git status",))
        await ask(keeps, bash, ctx, runs=("git status; $(x)",))
        await ask(keeps, bash, ctx, runs=("ls",), writes=(ctx.cwd / ".git" / "config",))

    asyncio.run(main())
    assert [request.patterns for request in ui.requests] == [(), (), ()]


def test_always_is_kept_and_covers_what_comes_next(ctx: CallContext, bash: Tool[Any]) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("always"), ApprovalDecision("no", "not that\x1b[2J")])
    kept: list[str] = []
    hook = ApprovalHook(Workspace.of((ctx.cwd,)), "ask", remember=kept.extend, dialogs=ui)

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("git log -3",)) is None
        assert await ask(hook, bash, ctx, runs=("git log",)) is None
        refusal = await ask(hook, bash, ctx, runs=("git log > x",))
        assert refusal is not None and refusal.endswith("They say: not that")

    asyncio.run(main())
    assert kept == ["run: git log *"]
    assert len(ui.requests) == 2


def test_what_cannot_be_kept_holds_for_the_session_and_is_told(ctx: CallContext, bash: Tool[Any]) -> None:
    def broken(patterns: Sequence[str]) -> None:
        raise ConfigError("The file is damaged.")

    ctx.ui = ui = RichUi([ApprovalDecision("always")])
    hook = ApprovalHook(Workspace.of((ctx.cwd,)), "ask", remember=broken, dialogs=ui)

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("git log -3",)) is None
        assert await ask(hook, bash, ctx, runs=("git log",)) is None

    asyncio.run(main())
    assert ui.notices == ["Allowed for this session only. The file is damaged."]


def test_patterns_of_the_settings_are_not_asked_about_and_bad_ones_are_told(
    ctx: CallContext, bash: Tool[Any]
) -> None:
    ctx.ui = ui = RichUi([ApprovalDecision("no")])
    hook = ApprovalHook(Workspace.of((ctx.cwd,)), "ask", ["run: make test", "nonsense"], dialogs=ui)
    assert len(hook.problems) == 1 and "nonsense" in hook.problems[0]

    async def main() -> None:
        assert await ask(hook, bash, ctx, runs=("make test",)) is None
        assert await ask(hook, create_tools(["eval"])[0], ctx, runs=("make test",)) is not None

    asyncio.run(main())
    assert len(ui.requests) == 1
