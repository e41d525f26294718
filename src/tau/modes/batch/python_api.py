"""`tau.batch(...)`: a batch from Python, as an iterator of results."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tau.base.errors import UsageError
from tau.base.tasks import spawn
from tau.modes.batch.coordinator import BatchEvent, BatchOptions, Coordinator, TaskEnded
from tau.modes.batch.local_executor import LocalExecutor, auto_jobs
from tau.modes.batch.run_folder import BatchResult, RunFolder
from tau.modes.batch.task import BatchTask, check_tasks, provider_of


async def batch(
    tasks: Iterable[BatchTask | Mapping[str, object]],
    *,
    jobs: int | None = None,
    folder: Path | None = None,
    flags: Sequence[str] = (),
    max_cost: float | None = None,
    fail_fast: int | None = None,
    keep: str = "none",
) -> AsyncGenerator[BatchResult, None]:
    """Run tasks, each in a separate tau, and yield each result once, as it comes.

    `tasks` are as in a task file, `flags` as for `tau batch`. With a `folder`, results, sessions and patches
    stay there, and the same call resumes: it yields the earlier results first. Leaving early stops what runs.
    """
    numbered = ((f"task {number}", task) for number, task in enumerate(tasks, 1))
    checked = check_tasks(numbered, Path.cwd()).tasks
    with ExitStack() as stack:
        path = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tau-batch-")))
        run_folder = RunFolder(path)
        if not run_folder.exists:
            run_folder = RunFolder.create(path, checked.values(), {})
        elif run_folder.tasks() != checked:
            raise UsageError(f'The tasks have changed since the batch in "{path}" began; use another folder.')
        run_folder.lock()
        stack.callback(run_folder.close)
        for earlier in list(run_folder.state.results.values()):
            if earlier.status != "cancelled":
                yield earlier
        results: asyncio.Queue[BatchResult | None] = asyncio.Queue()  # as many as tasks

        def listen(event: BatchEvent) -> None:
            if isinstance(event, TaskEnded):
                results.put_nowait(event.result)

        at_once = jobs or auto_jobs()
        executor = LocalExecutor(run_folder.path, at_once, keep, flags)
        options = BatchOptions(at_once, max_cost, fail_fast)
        work = Coordinator(
            run_folder, checked, executor, options, listen, lambda task: provider_of(task.model)
        )

        async def run() -> None:
            try:
                await work.run()
            finally:
                await executor.close()
                results.put_nowait(None)

        async with asyncio.TaskGroup() as group:
            running = spawn(group, run())
            try:
                while (result := await results.get()) is not None:
                    yield result
            except GeneratorExit:  # must not pass through the group, which would raise it as an error
                running.cancel()
                return
