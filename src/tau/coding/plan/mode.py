"""Plan mode: the agent reads, writes only a plan, and carries it out once the user approves."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.model import Model, ThinkingLevel
from tau.base.errors import TauError, ToolError
from tau.base.sizes import KIB, format_bytes
from tau.coding.model_resolver import ResumedModel
from tau.coding.pending_changes import PendingChange, PendingChanges
from tau.coding.plan.review import (
    PLAN_FILE,
    TOOLS,
    Plan,
    PlanAnswer,
    PlanDetails,
    PlanReview,
    ask_user,
    file_stem,
    title_of,
)
from tau.coding.ports import CodingContext, CodingDialogs
from tau.coding.prompts.system import fill
from tau.coding.session.branch_state import BranchState
from tau.coding.session.context import EntryNode, last_choice
from tau.coding.session.entries import ModeChange, ModelChange
from tau.coding.session.storage.log import SessionLog

if TYPE_CHECKING:
    from tau.coding.artifacts import FolderArtifacts
    from tau.coding.context import ModelRoles

PLAN, NONE = "plan", "none"
MAX_PLAN_BYTES = 256 * KIB


def resumed_model(log: SessionLog) -> ResumedModel | None:
    """The model to resume with: not the planning model."""
    context = log.context()
    model = context.model if context.mode != PLAN else _before_plan(log) or context.model
    if model is None:
        return None
    provider, id = model
    choice = last_choice(log.branch(), log.decode, model)
    address = (choice.base_url or None) if choice is not None else None
    upstream = (choice.upstream or "") if choice is not None else ""
    return ResumedModel(provider, id, context.base_url if model == context.model else address, upstream)


def _before_plan(log: SessionLog) -> tuple[str, str] | None:
    for node in reversed(log.branch()):
        entry = log.decode(node) if node.type in ("model_change", "mode_change") else None
        if isinstance(entry, ModelChange) and entry.model_id:
            return entry.provider, entry.model_id
        before = _data(entry).get("model") if isinstance(entry, ModeChange) else None
        if isinstance(before, str) and "/" in before:
            provider, _, id = before.partition("/")
            return provider, id
    return None


class PlanMode:
    """The log of the current branch says whether plan mode is on; `changed` is called when that changes."""

    def __init__(
        self,
        log: SessionLog,
        files: "FolderArtifacts",
        models: "ModelRoles",
        previews: PendingChanges | None = None,
        *,
        enabled: bool = True,
    ) -> None:
        self._log = log
        self._files = files
        self._models = models
        self._previews = previews
        if previews is not None:
            previews.default = self._submission
        self._enabled = enabled
        self._newest = BranchState(log, self._read)
        self.changed: Callable[[bool], None] = lambda on: None

    @property
    def on(self) -> bool:
        return self._log.context().mode == PLAN

    @property
    def approved(self) -> str | None:
        """The plan last approved on this branch, if it is still current."""
        change = self._newest.get()
        url = None if change is None else _data(change).get("approvedPlan")
        return url if isinstance(url, str) else None

    def enter(self) -> None:
        """Plan from the next request on. Raises TauError if plan mode is disabled."""
        if not self._enabled:
            raise TauError("Plan mode is disabled; enable it with the setting plan.enabled.")
        if self.on:
            return
        model = self._models.default
        data = {"planFile": PLAN_FILE, "model": f"{model.provider}/{model.id}"}
        self._log.append(ModeChange(mode=PLAN, data=data))
        if self._previews is not None:
            self._previews.take()  # earlier proposals must not be applied now
        self.changed(True)

    def leave(self, approved: str | None = None) -> None:
        if self.on:
            self._log.append(
                ModeChange(mode=NONE, data={} if approved is None else {"approvedPlan": approved})
            )
            self.changed(False)

    def toggle(self) -> bool:
        """Returns whether it is on now."""
        if self.on:
            self.leave()
        else:
            self.enter()
        return self.on

    def tools(self, tools: Sequence[Tool[Any]]) -> Sequence[Tool[Any]]:
        """The tools offered to the model now."""
        return [tool for tool in tools if tool.name in TOOLS] if self.on else tools

    def model(self) -> Model:
        return self._models.role("plan") if self.on else self._models.default

    def thinking(self) -> ThinkingLevel | None:
        """The level that the role's pattern names, if any."""
        return self._models.level("plan") if self.on else None

    def system(self, prompt: str) -> str:
        """The system prompt, with the instructions for planning."""
        if not self.on:
            return prompt
        template = (Path(__file__).parents[1] / "prompts" / "plan.md").read_text(encoding="utf-8")
        return f"{prompt}\n\n{fill(template.strip(), plan_file=PLAN_FILE)}"

    def _submission(self) -> PendingChange | None:
        """While planning, `resolve` submits the plan."""
        return PendingChange(title="the plan", paths=(), apply=self.submit) if self.on else None

    async def submit(self, ctx: CodingContext) -> ToolOutput:
        """Submit the plan to the user; approval ends plan mode. Raises ToolError."""
        if not self.on:
            raise ToolError("Plan mode is over; there is no plan to submit.")
        plan = self.plan()
        ctx.update(ToolOutput.text(plan.text, PlanDetails(title=plan.title, url=plan.url, verdict=None)))
        answer = await ask_user(plan, ctx.ui, ctx.dialogs)
        if answer is None:
            details = PlanDetails(title=plan.title, url=plan.url, verdict=None)
            return ToolOutput.text(
                f"This mode cannot ask. The plan is saved at {plan.url}; end your answer with it.", details
            )
        url, message = self._settle(plan, answer)
        return ToolOutput.text(
            message, PlanDetails(title=plan.title, url=url, verdict=answer.verdict, feedback=answer.feedback)
        )

    async def review(self, ui: Ui, dialogs: CodingDialogs | None = None) -> PlanReview:
        """Ask the user about the current plan again. Raises ToolError if there is none."""
        plan = self.plan()
        answer = await ask_user(plan, ui, dialogs) or PlanAnswer("keep")
        _, message = self._settle(plan, answer)
        return PlanReview(answer, "" if answer.verdict == "keep" else message)

    def plan(self) -> Plan:
        """The current plan. Raises ToolError."""
        path = self._path()
        try:
            data = b"" if path is None else path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise ToolError(f"The plan {PLAN_FILE} cannot be read: {error.strerror or error}.") from None
        if len(data) > MAX_PLAN_BYTES:
            raise ToolError(f"The plan is longer than {format_bytes(MAX_PLAN_BYTES)}; shorten it.")
        text = data.decode("utf-8", "replace").strip()
        if not text:
            raise ToolError(f"There is no plan yet; write it to {PLAN_FILE} first.")
        return Plan(title_of(text), text, PLAN_FILE)

    def _settle(self, plan: Plan, answer: PlanAnswer) -> tuple[str, str]:
        """Act on the answer; returns where the plan is then, and the message for the model."""
        before, plan = plan, self._reload(plan)
        changed = "" if plan.text == before.text else f"\n\nThe user changed the plan:\n\n{plan.text}"
        match answer.verdict:
            case "approve":
                url = self._archive(plan)
                self.leave(approved=url)
                return url, (
                    f"The user approved the plan; it is saved at {url}. Plan mode is over: all tools "
                    f"work again. Carry out the plan now.{changed}"
                )
            case "reject":
                return plan.url, (
                    f"The user sent the plan back: {answer.feedback}\n"
                    f"Change {plan.url} accordingly and submit it again.{changed}"
                )
            case "keep":
                return (
                    plan.url,
                    "The user wants to keep planning. End your answer and wait for their reply.",
                )

    def _reload(self, plan: Plan) -> Plan:
        """The user may edit the plan file during the review."""
        try:
            return self.plan()
        except ToolError:
            return plan

    def _archive(self, plan: Plan) -> str:
        """Rename an approved plan so that the next one starts with an empty file."""
        path = self._path()
        if path is None:
            return plan.url
        stem = file_stem(plan.title)
        names = (f"{stem}{'' if number == 1 else f'-{number}'}.md" for number in range(1, 1000))
        name = next((name for name in names if not path.with_name(name).exists()), f"{stem}.md")
        try:
            path.replace(path.with_name(name))
        except OSError:
            return plan.url
        return f"local://{name}"

    def _path(self) -> Path | None:
        folder = self._files.scratch(make=False)
        return None if folder is None else folder / PLAN_FILE.removeprefix("local://")

    def _read(self, node: EntryNode) -> ModeChange | None:
        entry = self._log.decode(node) if node.type == "mode_change" else None
        return entry if isinstance(entry, ModeChange) else None


def _data(change: ModeChange) -> dict[str, Any]:
    return change.data if isinstance(change.data, dict) else {}
