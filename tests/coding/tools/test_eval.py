"""eval: cells through the tool, as a model calls it."""

import asyncio
import base64
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tau.agent.output import ToolOutput
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, ImageContent, TextContent, ToolCall, Usage
from tau.backends.kernels.pool import Kernels
from tau.base.errors import ProviderError, ToolError
from tau.coding.context import ModelRoles
from tau.coding.tools.eval import Eval
from tau.coding.tools.eval_output import as_markdown
from tau.config.settings import Settings, ToolsSettings
from tau.config.tool_settings import EvalSettings, ImagesSettings, PythonSettings
from tests.coding.context import CallContext, call, call_now, text_of
from tests.support.idle import until
from tests.support.limits import HANG_S, growing

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
OWN = Settings(python=PythonSettings(interpreter=sys.executable))


def py(code: str, **more: Any) -> dict[str, Any]:
    return {"language": "py", "code": code, **more}


def js(code: str, **more: Any) -> dict[str, Any]:
    return {"language": "js", "code": code, **more}


def run(ctx: CallContext, *cells: dict[str, Any], tool: Eval | None = None) -> ToolOutput:
    return call_now(tool or Eval(settings=OWN), ctx, cells=list(cells))


def test_one_cell_returns_its_output(ctx: CallContext) -> None:
    output = run(ctx, py("print('a')\n1 + 1"))
    assert text_of(output) == "a\n2\n" and not output.is_error
    details = output.details
    (cell,) = details.cells
    assert (details.language, details.languages, details.is_error) == ("python", ["python"], False)
    assert (cell.status, cell.output, cell.exit_code, cell.code) == (
        "complete",
        "a\n2",
        0,
        "print('a')\n1 + 1",
    )
    assert cell.duration_ms >= 0


def test_empty_output_is_reported(ctx: CallContext) -> None:
    assert text_of(run(ctx, py("x = 1"))) == "(no output)"


@needs_node
def test_output_of_several_cells_is_labeled(ctx: CallContext) -> None:
    output = run(ctx, py("x = 1", title="set"), js("[1, 2].length"), py("x + 1"))
    assert text_of(output) == "[1/3] set\n(no output)\n\n[2/3]\n2\n\n[3/3]\n2\n"
    assert output.details.languages == ["python", "js"]


def test_first_failure_ends_the_call_and_is_named(ctx: CallContext) -> None:
    output = run(ctx, py("x = 1"), py("x / 0", title="share"), py("print('never')"))
    lines = text_of(output).splitlines()
    assert lines[-2] == "ZeroDivisionError: division by zero"
    assert lines[-1] == '[Cell 2 of 3 "share" failed with exit code 1; later cells did not run]'
    assert output.is_error and output.details.is_error
    assert [cell.status for cell in output.details.cells] == ["complete", "error", "pending"]
    assert [cell.exit_code for cell in output.details.cells] == [0, 1, None]


def test_half_a_character_in_a_cell_was_an_exception_group(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="lone surrogate"):
        run(ctx, py("x = 1"), py("print('\ud800')"))
    with pytest.raises(ToolError, match=r"^Cell 2 has a lone surrogate at offset 7\.$"):
        run(ctx, py("x = 1"), py("print('\udc80')"))


def test_time_limit_is_reported_and_the_output_kept(ctx: CallContext) -> None:
    for limit_s in growing(1):
        output = run(ctx, py("print('begun')\nimport time\ntime.sleep(600)", timeout=limit_s))
        if text_of(output).startswith("begun"):
            break
    assert text_of(output) == f"begun\n[The cell was stopped: exceeded its time limit of {limit_s:g} s]\n"
    assert output.is_error and output.details.cells[0].exit_code == 130


def test_kernel_exit_is_reported(ctx: CallContext) -> None:
    output = run(ctx, py("import os; os._exit(3)"))
    expected = "[The cell ended its kernel: it exited with code 3; all variables are lost]\n"
    assert text_of(output) == expected and output.is_error


def test_stdin_is_refused_even_if_the_code_handles_it(ctx: CallContext) -> None:
    output = run(ctx, py("try:\n    input()\nexcept EOFError: pass"))
    refusal = "Kernel requested stdin; interactive input is not supported."
    assert text_of(output).splitlines()[0] == refusal and output.is_error
    assert text_of(run(ctx, py("input()"))).count(refusal) == 1


def test_variables_live_as_long_as_the_kernels(ctx: CallContext) -> None:
    async def main() -> None:
        async with Kernels(ctx.run, python=sys.executable) as kernels:
            tool = Eval(kernels, settings=OWN)
            await call(tool, ctx, cells=[py("x = 41")])
            assert text_of(await call(tool, ctx, cells=[py("x + 1")])) == "42\n"
            assert (await call(tool, ctx, cells=[py("x", reset=True)])).is_error
        other = Eval(settings=OWN)
        assert (await call(other, ctx, cells=[py("x")])).is_error

    asyncio.run(main())


def test_json_is_shown_and_kept(ctx: CallContext) -> None:
    output = run(ctx, py("display({'a': [1, None]})\ndisplay([2])"))
    assert text_of(output) == '{\n  "a": [\n    1,\n    null\n  ]\n}\n[\n  2\n]\n'
    assert output.details.json_outputs == [{"a": [1, None]}, [2]]


def test_markdown_and_html_are_shown_as_markdown(ctx: CallContext) -> None:
    table = "<table><tr><th>a</th></tr><tr><td><b>1</b></td></tr></table>"
    output = run(ctx, py("display(Markdown('# Title'))"), py(f"HTML('{table}')"), py("1"))
    assert "# Title\n" in text_of(output) and "| a |\n| --- |\n| **1** |\n" in text_of(output)
    assert [cell.has_markdown for cell in output.details.cells] == [True, True, False]
    assert as_markdown("<p>") == "<p>"


PNG = (
    "from zlib import compress, crc32\nfrom struct import pack\n"
    "def part(kind, data): return pack('>I', len(data)) + kind + data + pack('>I', crc32(kind + data))\n"
    "def png(side):\n    rows = (b'\\0' + bytes(3 * side)) * side\n"
    "    head = pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0)\n"
    "    parts = part(b'IHDR', head) + part(b'IDAT', compress(rows)) + part(b'IEND', b'')\n"
    "    return b'\\x89PNG\\r\\n\\x1a\\n' + parts\n"
)


def images(output: ToolOutput) -> list[ImageContent]:
    return [part for part in output.content if isinstance(part, ImageContent)]


def test_images_are_sent_and_large_ones_scaled_down(ctx: CallContext) -> None:
    output = run(ctx, py(f"{PNG}display(png(2), png(3000));"))
    assert text_of(output) == "(displayed 2 images; no text output)"
    small, large = images(output)
    assert small.mime_type == "image/png" and base64.b64decode(small.data)[16:20] == b"\0\0\0\2"
    assert len(base64.b64decode(large.data)) < 30_000


def test_unsendable_images_are_reported(ctx: CallContext) -> None:
    output = run(ctx, py("display({'type': 'image', 'data': b'no image'})"))
    assert text_of(output).startswith("[Image not sent: Only PNG") and not images(output)
    blocked = Eval(settings=replace(OWN, images=ImagesSettings(block_images=True)))
    output = run(ctx, py(f"{PNG}png(2)"), tool=blocked)
    assert text_of(output) == "[Image not sent: images.blockImages is true]\n" and not images(output)
    many = run(ctx, py(f"{PNG}for _ in range(25): display(png(2))"))
    assert len(images(many)) == 20 and "Only the first 20 images" in text_of(many)


def test_long_output_is_cut_and_saved_as_an_artifact(ctx: CallContext) -> None:
    tool = Eval(settings=replace(OWN, tools=ToolsSettings(artifact_spill_threshold=2)))
    output = run(ctx, py("for i in range(5000): print('line', i)"), tool=tool)
    text = text_of(output)
    assert text.startswith("line 0\n") and "line 4999\n" in text and len(text) < 3000
    truncation = output.details.meta.truncation
    assert truncation.total_lines == 5000 and f"artifact://{truncation.artifact_id}" in text
    assert ctx.artifacts.open(truncation.artifact_id).read_text().count("\n") == 5000
    assert len(output.details.cells[0].output) < 20_000 and not output.is_error


def test_progress_is_shown(ctx: CallContext) -> None:
    wait = "import os, time\nwhile not os.path.exists('seen'): time.sleep(0.01)"

    async def main() -> None:
        cell = py(f"print('one', flush=True)\n{wait}\nprint('two')", title="t")
        running = asyncio.ensure_future(call(Eval(settings=OWN), ctx, cells=[cell]))
        await until(lambda: "one\n" in map(text_of, ctx.updates), HANG_S, lambda: str(ctx.updates))
        (ctx.cwd / "seen").touch()
        await running

    asyncio.run(main())
    texts = [text_of(update) for update in ctx.updates]
    assert "one\n" in texts and texts[-1] == "one\ntwo\n"
    assert ctx.updates[0].details.cells[0].status == "running"
    assert ctx.updates[-1].details.cells[0].status == "complete"


def test_abort_stops_the_cell_and_the_last_update_says_so(ctx: CallContext) -> None:
    async def main() -> None:
        code = "open('begun', 'w').close()\nimport time\ntime.sleep(600)"
        running = asyncio.ensure_future(call(Eval(settings=OWN), ctx, cells=[py(code), py("2")]))
        while not (ctx.cwd / "begun").exists():  # noqa: ASYNC110 - a file says it
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    last = ctx.updates[-1]
    assert "[Cell 1 of 2 was stopped]" in text_of(last)
    assert last.details.is_error and [cell.status for cell in last.details.cells] == ["error", "pending"]


def test_disabled_or_missing_language_is_refused(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    off = Eval(settings=Settings(eval=EvalSettings(py=False, js=False)))
    for cell, setting in ((py("1"), "eval.py"), (js("1"), "eval.js")):
        with pytest.raises(ToolError, match=f"{setting} is false"):
            run(ctx, cell, tool=off)
    monkeypatch.setenv("PATH", str(ctx.cwd))
    with pytest.raises(ToolError, match=r"need Node\.js 18 or newer"):
        run(ctx, py("1"), js("1"))
    assert "js: Node.js" not in Eval(settings=OWN).description
    assert "py: the project" in Eval(settings=OWN).description and "{{" not in Eval(settings=OWN).description


def test_kernel_that_cannot_start_is_a_failed_cell(ctx: CallContext) -> None:
    output = run(
        ctx, py("1"), tool=Eval(settings=Settings(python=PythonSettings(interpreter="no-such-python")))
    )
    assert 'python.interpreter is "no-such-python"' in text_of(output) and output.is_error


def test_call_declares_the_code_it_runs(ctx: CallContext) -> None:
    tool = Eval()
    params, _ = tool.decode({"cells": [py("1"), js("2")]})
    assert params.cells[0].code == "1" and tool.exclusive
    assert tool.effects(params, ctx.cwd).runs == ("Python: 1", "JavaScript: 2")


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [{"language": "py"}],
        [{"code": "1"}],
        [{"language": "rb", "code": "1"}],
        [py("1", timeout=0)],
        [py("1", timeout=601)],
    ],
)
def test_invalid_arguments_are_refused(cells: list[Any]) -> None:
    with pytest.raises(ToolError):
        Eval().decode({"cells": cells})


class CallingContext(CallContext):
    """With the port through which cells call tools."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if name == "refused":
            return ToolOutput.text("The user declined.", is_error=True)
        image = ImageContent("cG5n", "image/png")
        return ToolOutput([TextContent(f"{name}: {arguments}"), image], {"seen": True})


def calling(ctx: CallContext) -> CallingContext:
    return CallingContext(ctx.environment, ctx.log, ctx.warnings)


def test_cells_call_other_tools(ctx: CallContext) -> None:
    output = run(calling(ctx), py("r = tool.read(path='a')\nprint(r, r.details, r.images)"))
    assert text_of(output) == (
        "read: {'path': 'a'} {'seen': True} [{'data': 'cG5n', 'mimeType': 'image/png'}]\n"
    )
    (event,) = output.details.status_events
    assert event == {"op": "tool", "name": "read", "isError": False, "chars": 19}
    assert output.details.cells[0].status_events == [event]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("tool.refused()", "The user declined."),
        ("tool.eval(cells=[])", "A cell cannot call eval"),
        ("agent('do it')", "Cells cannot start agents"),
        ("completion('q')", "Cells cannot call a model here."),
        ("output(99)", "There is no artifact"),
    ],
)
def test_unavailable_features_raise_in_the_cell(ctx: CallContext, code: str, reason: str) -> None:
    assert reason in text_of(run(calling(ctx), py(code)))


def test_tools_cannot_be_called_without_the_port(ctx: CallContext) -> None:
    assert "Other tools cannot be called from here." in text_of(run(ctx, py("tool.read(path='a')")))


def test_earlier_output_can_be_read(ctx: CallContext) -> None:
    sink = ctx.artifacts.create("bash")
    sink.write(b"one\ntwo\n")
    sink.close()
    output = run(ctx, py(f"output({sink.id}), output('artifact://{sink.id}', offset=2)"))
    assert text_of(output) == "('one\\ntwo\\n', 'two\\n')\n"


MODEL = Model(id="m", name="M", api="x", provider="p", base_url="")
SLOW = Model(id="slow", name="S", api="x", provider="p", base_url="", reasoning=True)


class FakeComplete:
    """Answers with a fixed text and records the requests."""

    def __init__(self, *content: Any, stop_reason: Any = "stop") -> None:
        self.content = list(content)
        self.stop_reason = stop_reason
        self.asked: list[tuple[Model, Request]] = []

    async def __call__(self, model: Model, request: Request) -> AssistantMessage:
        self.asked.append((model, request))
        if self.stop_reason == "raises":
            raise ProviderError("No key.")
        return AssistantMessage(self.content, "x", "p", model.id, Usage(), self.stop_reason, timestamp=0)


def asking(ctx: CallContext, complete: FakeComplete, code: str) -> str:
    ctx.models = ModelRoles(MODEL, {"slow": SLOW})
    return text_of(run(ctx, py(code), tool=Eval(settings=OWN, complete=complete)))


def test_cells_can_ask_models(ctx: CallContext) -> None:
    complete = FakeComplete(TextContent("words"))
    assert (
        asking(ctx, complete, "completion('q', system='s') + completion('r', model='slow')")
        == "'wordswords'\n"
    )
    (first, one), (second, two) = complete.asked
    assert (first, second) == (MODEL, SLOW)
    assert (one.system, one.thinking, two.thinking, one.tools) == ("s", "off", "high", [])
    assert one.messages[0].content == [TextContent("q")]


def test_cells_can_ask_for_objects(ctx: CallContext) -> None:
    code = "completion('q', schema={'type': 'object'})['n']"
    complete = FakeComplete(ToolCall("1", "respond", {"n": 5}))
    assert asking(ctx, complete, code) == "5\n"
    assert complete.asked[0][1].tools[0].parameters == {"type": "object"}
    assert asking(ctx, FakeComplete(TextContent('```json\n{"n": 6}\n```')), code) == "6\n"
    assert "did not follow the schema" in asking(ctx, FakeComplete(TextContent("six")), code)


@pytest.mark.parametrize(
    ("complete", "code", "reason"),
    [
        (FakeComplete(), "completion('q')", "gave no answer"),
        (FakeComplete(stop_reason="error"), "completion('q')", "The request to p/m failed."),
        (FakeComplete(stop_reason="aborted"), "completion('q')", "was aborted"),
        (FakeComplete(stop_reason="raises"), "completion('q')", "No key."),
        (FakeComplete(), "completion('q', model='huge')", 'There is no model "huge"'),
    ],
)
def test_model_that_does_not_answer_fails_the_cell(
    ctx: CallContext, complete: FakeComplete, code: str, reason: str
) -> None:
    assert reason in asking(ctx, complete, code)


def test_events_and_values_are_bounded(ctx: CallContext) -> None:
    output = run(ctx, py("for i in range(300): log(i); display([i])\ndisplay(['x' * 300_000])"))
    assert len(output.details.status_events) == 201
    assert "More than 200 events" in output.details.status_events[-1]["message"]
    assert len(output.details.json_outputs) == 50


def test_no_temporary_files_are_left(ctx: CallContext) -> None:
    folder = Path(os.environ.get("TMPDIR", "/tmp"))
    before = {path.name for path in folder.glob("tau-kernel*")}
    run(ctx, py("1"))
    assert {path.name for path in folder.glob("tau-kernel*")} == before
