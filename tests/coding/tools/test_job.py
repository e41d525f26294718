"""job: polling, cancelling and listing background jobs, and what the model sees."""

import asyncio
from typing import Any

import msgspec
import pytest

from tau.agent.agent import Agent
from tau.agent.hooks import Hooks
from tau.agent.output import ToolOutput
from tau.ai.faux import FAUX_MODEL, Act, Faux, Say, Use, Wait
from tau.ai.wire import CustomMessage, ToolCall, ToolResultMessage
from tau.ai.wire import text_of as words_in
from tau.base.errors import ToolError
from tau.coding.jobs.delivery import JobSnapshot, put_result, retract_result
from tau.coding.jobs.session_jobs import SessionJobs
from tau.coding.ports import JobReport
from tau.coding.tools.job import CancelOutcome, JobParams, JobTool
from tests.coding.background import Clock, Desk, endless, failing, run, saying, settle, waiting
from tests.coding.context import CallContext, call, call_now, text_of


def plain_details(output: ToolOutput) -> Any:
    return msgspec.to_builtins(output.details)


def test_poll_shows_finished_and_running_jobs(ctx: CallContext) -> None:
    async def main() -> None:
        async def serving(report: JobReport) -> str:
            report("listening on 8000\n")
            return await endless(report)

        clock = Clock()
        async with SessionJobs(clock=clock) as ctx.jobs:
            ctx.jobs.start("bash", "make test", saying("3 passed\n"))
            ctx.jobs.start("task", "look around", failing(ToolError("There is no model.")))
            ctx.jobs.start("bash", "npm run dev", serving)
            clock.now_s += 12
            output = await call(JobTool(), ctx)
        assert text_of(output) == (
            "## Completed (2)\n\n"
            "### bash-1 (completed, 12 s): make test\n3 passed\n\n"
            "### task-2 (failed, 12 s): look around\nThere is no model.\n\n"
            "## Still Running (1)\n\n"
            "### bash-3 (12 s): npm run dev\nlistening on 8000"
        )
        common = {"durationMs": 12_000}
        assert plain_details(output) == {
            "jobs": [
                {
                    **common,
                    "id": "bash-1",
                    "type": "bash",
                    "status": "completed",
                    "label": "make test",
                    "resultText": "3 passed\n",
                },
                {
                    **common,
                    "id": "task-2",
                    "type": "task",
                    "status": "failed",
                    "label": "look around",
                    "errorText": "There is no model.",
                },
                {**common, "id": "bash-3", "type": "bash", "status": "running", "label": "npm run dev"},
            ]
        }

    run(main)


def test_poll_ends_with_the_first_finished_job_and_leaves_the_others(ctx: CallContext) -> None:
    async def main() -> None:
        desk = Desk()
        first, second = asyncio.Event(), asyncio.Event()
        async with SessionJobs(desk.deliver) as ctx.jobs:
            ids = [ctx.jobs.start("bash", "work", waiting(moment)) for moment in (first, second)]
            asyncio.get_running_loop().call_soon(first.set)
            output = await call(JobTool(), ctx, poll=[*ids, ids[0], "bash-77"])
            assert [job.status for job in output.details.jobs] == ["completed", "running"]
            second.set()
            await ctx.jobs.quiet()
            assert desk.ids == [ids[1]]  # the first one has been shown

    run(main)


def test_already_finished_job_does_not_end_the_wait_for_another(ctx: CallContext) -> None:
    async def main() -> None:
        moment = asyncio.Event()
        async with SessionJobs() as ctx.jobs:
            ended = ctx.jobs.start("bash", "work", saying("a"))
            await ctx.jobs.quiet()
            running = ctx.jobs.start("bash", "work", waiting(moment))
            asyncio.get_running_loop().call_later(0.01, moment.set)
            output = await call(JobTool(), ctx, poll=[ended, running])
            assert [job.status for job in output.details.jobs] == ["completed", "completed"]

    run(main)


def test_finished_jobs_are_shown_at_once_and_not_delivered_again(ctx: CallContext) -> None:
    async def main() -> None:
        desk = Desk()
        desk.failures = 1000
        async with SessionJobs(desk.deliver) as ctx.jobs:
            id = ctx.jobs.start("bash", "work", saying("a"))
            await settle()
            output = await call(JobTool(), ctx, poll=[id])
            desk.failures = 0
        assert "## Completed (1)" in text_of(output)
        assert desk.ids == [] and ctx.updates == []

    run(main)


def test_poll_timeout_is_not_an_error(ctx: CallContext) -> None:
    async def main() -> None:
        async with SessionJobs() as ctx.jobs:
            ctx.jobs.start("bash", "work", endless)
            output = await call(JobTool(wait_s=0), ctx)
            assert not output.is_error
            assert text_of(output) == "## Still Running (1)\n\n### bash-1 (0.0 s): work"

    run(main)


def test_updates_during_a_poll_have_fresh_details_and_no_text(
    ctx: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.coding.tools.job.UPDATE_INTERVAL_S", 0.005)

    async def main() -> None:
        clock = Clock()
        moment = asyncio.Event()
        async with SessionJobs(clock=clock) as ctx.jobs:
            ctx.jobs.start("bash", "work", waiting(moment))
            polling = asyncio.get_running_loop().create_task(call(JobTool(), ctx))
            while len(ctx.updates) < 3:
                clock.now_s += 1
                await asyncio.sleep(0.001)
            moment.set()
            await polling
        durations_ms = [update.details.jobs[0].duration_ms for update in ctx.updates[:3]]
        assert durations_ms == sorted(set(durations_ms))
        assert {text_of(update) for update in ctx.updates} == {""}

    run(main)


def test_nothing_to_wait_for(ctx: CallContext) -> None:
    async def main() -> None:
        async with SessionJobs() as ctx.jobs:
            assert text_of(await call(JobTool(), ctx)) == "No background job is running."
            assert text_of(await call(JobTool(), ctx, poll=[])) == "No background job is running."
            output = await call(JobTool(), ctx, poll=["bash-7", "x"])
            assert text_of(output).startswith('No job matches "bash-7, x"')
            assert plain_details(output) == {"jobs": []}
            assert text_of(await call(JobTool(), ctx, list=True)) == "There are no background jobs."

    run(main)


def test_cancelling_reports_each_outcome_and_does_not_wait(ctx: CallContext) -> None:
    async def main() -> None:
        async with SessionJobs(clock=Clock()) as ctx.jobs:
            ended = ctx.jobs.start("bash", "ended", saying("a"))
            await ctx.jobs.quiet()
            running = ctx.jobs.start("bash", "running", endless)
            ctx.jobs.start("bash", "other", endless)
            output = await call(JobTool(), ctx, cancel=[running, ended, "bash-9", running])
        assert text_of(output) == (
            "## Cancelled (3)\n- bash-2: cancelled\n- bash-1: already completed\n- bash-9: not found\n\n"
            "## Completed (2)\n\n### bash-2 (cancelled, 0.0 s): running\n\n"
            "### bash-1 (completed, 0.0 s): ended\na"
        )
        assert plain_details(output)["cancelled"] == [
            {"id": "bash-2", "status": "cancelled"},
            {"id": "bash-1", "status": "already_completed"},
            {"id": "bash-9", "status": "not_found"},
        ]
        assert [job.id for job in output.details.jobs] == ["bash-2", "bash-1"]

    run(main)


def test_cancelling_an_unknown_job_is_not_an_error(ctx: CallContext) -> None:
    async def main() -> None:
        async with SessionJobs() as ctx.jobs:
            output = await call(JobTool(), ctx, cancel=["bash-9"])
        assert text_of(output) == "## Cancelled (1)\n- bash-9: not found"
        assert (output.details.jobs, output.is_error) == ([], False)

    run(main)


def test_cancelling_comes_before_polling(ctx: CallContext) -> None:
    async def main() -> None:
        moment = asyncio.Event()
        async with SessionJobs() as ctx.jobs:
            stopped = ctx.jobs.start("bash", "a", endless)
            polled = ctx.jobs.start("bash", "b", waiting(moment))
            asyncio.get_running_loop().call_later(0.01, moment.set)
            output = await call(JobTool(), ctx, cancel=[stopped], poll=[polled])
            assert output.details.cancelled == [CancelOutcome(stopped, "cancelled")]
            assert [job.status for job in output.details.jobs] == ["cancelled", "completed"]

    run(main)


def test_last_report_of_a_cancelled_job_is_shown(ctx: CallContext) -> None:
    async def main() -> None:
        async def serving(report: JobReport) -> str:
            report("listening")
            return await endless(report)

        async with SessionJobs() as ctx.jobs:
            id = ctx.jobs.start("bash", "serve", serving)
            await settle()
            output = await call(JobTool(), ctx, cancel=[id])
            assert text_of(output).endswith("serve\nlistening")
            assert "resultText" not in plain_details(output)["jobs"][0]

    run(main)


def test_list_shows_all_and_changes_nothing(ctx: CallContext) -> None:
    async def main() -> None:
        desk = Desk()
        desk.failures = 1
        async with SessionJobs(desk.deliver) as ctx.jobs:
            ids = [ctx.jobs.start("bash", "a", saying("x\n" * 5_000)), ctx.jobs.start("bash", "b", endless)]
            await settle()
            output = await call(JobTool(), ctx, list=True)
            assert [job.id for job in output.details.jobs] == ids
            assert "## Completed (1)" in text_of(output) and "## Still Running (1)" in text_of(output)
            assert "poll it for the rest" in text_of(output) and len(text_of(output)) < 10_000
        assert desk.ids == [ids[0]]

    run(main)


@pytest.mark.parametrize("other", [{"poll": ["bash-1"]}, {"cancel": ["bash-1"]}])
def test_list_cannot_be_combined(ctx: CallContext, other: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="`list` cannot be combined"):
        call_now(JobTool(), ctx, list=True, **other)


def test_many_long_results_share_the_output_limit(ctx: CallContext) -> None:
    async def main() -> None:
        moment = asyncio.Event()
        async with SessionJobs(artifacts=ctx.artifacts) as ctx.jobs:
            text = "".join(f"line {number}\n" for number in range(1_000))
            for _ in range(50):
                ctx.jobs.start("bash", "work", waiting(moment, text))
            moment.set()
            await ctx.jobs.quiet()
            output = await call(JobTool(), ctx, poll=[job.id for job in ctx.jobs.list()])
        assert text_of(output).count("line 999\n[Showing lines") == 50
        assert len(text_of(output)) < 70_000
        assert ctx.artifacts.open("0").read_text() == text

    run(main)


def test_prompt_says_how_long_it_waits() -> None:
    assert "at most 5 s" in JobTool(wait_s=5).description
    assert set(JobTool().spec.parameters["properties"]) == {"poll", "cancel", "list"}
    assert not JobTool().spec.parameters.get("required")


class HereJob(JobTool):
    """The tool with the test's context, in a loop without a world."""

    description = "Waits."

    def __init__(self, ctx: CallContext) -> None:
        super().__init__()
        self.ctx = ctx
        self.began = asyncio.Event()

    async def run(self, params: JobParams, ctx: Any) -> ToolOutput:
        asyncio.get_running_loop().call_soon(self.began.set)
        return await super().run(params, self.ctx)


def agent_with(tool: JobTool, script: list[Any], hooks: Hooks | None = None) -> tuple[Agent, Faux]:
    faux = Faux(script)
    return Agent(model=FAUX_MODEL, stream=faux.stream, tools=[tool], hooks=hooks), faux


def results_of(agent: Agent) -> list[ToolResultMessage]:
    return [message for message in agent.messages if isinstance(message, ToolResultMessage)]


def test_stopped_wait_returns_a_snapshot_and_the_jobs_continue(ctx: CallContext) -> None:
    async def main() -> None:
        desk = Desk()
        async with SessionJobs(desk.deliver) as ctx.jobs:
            ctx.jobs.start("bash", "ended", saying("the words"))
            await ctx.jobs.quiet()
            desk.jobs.clear()
            ctx.jobs.start("bash", "work", endless)
            tool = HereJob(ctx)
            agent, faux = agent_with(tool, [[Use("job", poll=["bash-1", "bash-2"])], [Say("no")]])
            running = asyncio.get_running_loop().create_task(agent.prompt("go"))
            await tool.began.wait()
            agent.abort()
            outcome = await running
            (result,) = results_of(agent)
            assert outcome.aborted and len(faux.requests) == 1
            assert not result.is_error and "## Still Running (1)" in words_in(result.content)
            assert "interrupted the wait" in words_in(result.content)
            assert (
                isinstance(result.details.jobs[1], JobSnapshot) and result.details.jobs[1].status == "running"
            )
            assert ctx.jobs.list()[1].running
            current = asyncio.current_task()
            assert current is not None and current.cancelling() == 0

    run(main)


@pytest.mark.parametrize("suspends", [False, True])
def test_stopped_wait_loses_no_result(ctx: CallContext, suspends: bool) -> None:
    """The job ends at the moment of the stop, and the snapshot may be discarded by what follows."""

    class Slow(Hooks):
        async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
            if suspends:
                await asyncio.sleep(0.01)
            return output

    async def main() -> None:
        desk = Desk()
        moment = asyncio.Event()
        async with SessionJobs(desk.deliver) as ctx.jobs:
            id = ctx.jobs.start("bash", "work", waiting(moment, "the words"))
            tool = HereJob(ctx)
            agent, _ = agent_with(tool, [[Use("job")], [Say("no")]], hooks=Slow())
            running = asyncio.get_running_loop().create_task(agent.prompt("go"))
            await tool.began.wait()
            moment.set()
            await asyncio.sleep(0)
            agent.abort()
            assert (await running).aborted
            await ctx.jobs.quiet()
            (result,) = results_of(agent)
            assert ("the words" in words_in(result.content)) + desk.ids.count(id) == 1

    run(main)


def test_cancellation_of_the_program_is_not_swallowed(ctx: CallContext) -> None:
    async def main() -> None:
        async with SessionJobs() as ctx.jobs:
            ctx.jobs.start("bash", "work", endless)
            tool = HereJob(ctx)
            agent, _ = agent_with(tool, [[Use("job")], [Wait(), Say("no")]])
            running = asyncio.get_running_loop().create_task(agent.prompt("go"))
            await tool.began.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert len(results_of(agent)) == 1 and '"no"' not in repr(agent.messages)

    run(main)


def test_polled_result_already_queued_is_reported_once(ctx: CallContext) -> None:
    async def main() -> None:
        moment = asyncio.Event()
        queued: list[int] = []
        script = [
            [
                Act(moment.set),
                Wait(0.01),
                Act(lambda: queued.append(len(queue.waiting()))),
                Use("job", poll=["bash-1"]),
            ],
            [Say("fine")],
        ]
        agent, faux = agent_with(HereJob(ctx), script)
        queue = agent.queue
        async with SessionJobs(
            lambda job: put_result(queue, job), retract=lambda id: retract_result(queue, id)
        ) as ctx.jobs:
            ctx.jobs.start("bash", "work", waiting(moment, "the words"))
            await agent.prompt("go")
        assert queued == [1] and "the words" in words_in(results_of(agent)[0].content)
        assert not [message for message in agent.messages if isinstance(message, CustomMessage)]
        assert len(faux.requests) == 2 and queue.unsettled() == []

    run(main)


def test_job_that_ends_while_the_model_answers_is_delivered_before_it_stops(ctx: CallContext) -> None:
    async def main() -> None:
        moment = asyncio.Event()
        script = [[Act(moment.set), Wait(0.01), Say("waiting")], [Say("fine")]]
        agent, faux = agent_with(HereJob(ctx), script)
        async with SessionJobs(lambda job: put_result(agent.queue, job)) as ctx.jobs:
            ctx.jobs.start("bash", "work", waiting(moment, "the words"))
            await agent.prompt("go")
        (reported,) = [message for message in agent.messages if isinstance(message, CustomMessage)]
        assert "the words" in reported.content and len(faux.requests) == 2

    run(main)
