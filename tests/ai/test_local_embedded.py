"""Starting and stopping the demo server, simulated by small programs (tests/local has the real one)."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tau.ai.local import embedded
from tau.ai.local.embedded import EmbeddedServer, demo_model
from tau.ai.local.server_main import ServerLaunch, parameters
from tau.base import log
from tau.base.errors import ProviderError, TauError
from tau.base.run import Limits, LocalRunner, Process, Sandbox


class ReplacingRunner(LocalRunner):
    """Runs shell text instead of the server and records the requested command."""

    def __init__(self, text: str) -> None:
        super().__init__(shell="/bin/sh")
        self.text = text
        self.command: str | Sequence[str] = ""
        self.stdin = b""
        self.started: Process | None = None

    async def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        stdin: bytes | None = None,
    ) -> Process:
        self.command, self.stdin = command, stdin or b""
        assert env is None
        self.started = await super().start(self.text, cwd=cwd, limits=limits, stdin=stdin)
        return self.started


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that passes for the weights, in an installation with the extra."""
    monkeypatch.setattr(embedded, "is_whole", lambda path: path.read_bytes() == b"weights")
    monkeypatch.setattr(embedded, "find_spec", lambda name: object())
    path = tmp_path / "weights.gguf"
    path.write_bytes(b"weights")
    return path


def start(weights: Path, run: LocalRunner, seconds: float = 20) -> EmbeddedServer:
    async def main() -> EmbeddedServer:
        async with EmbeddedServer(weights, run, timeout_s=seconds) as server:
            return server

    return asyncio.run(main())


def is_alive(process: Process | None) -> bool:
    assert process is not None
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_port_printed_by_the_child_becomes_the_base_url(whole: Path) -> None:
    run = ReplacingRunner("""echo warming up; echo '{"port": 4711}'; exec sleep 600""")
    server = start(whole, run)
    assert server.model.base_url == "http://127.0.0.1:4711/v1"
    assert server.model.demo and "demo model, offline" in server.model.name
    assert not is_alive(run.started)


def test_key_is_random_and_sent_only_on_stdin(whole: Path) -> None:
    run = ReplacingRunner("""echo '{"port": 1}'; exec sleep 600""")
    first, second = start(whole, run), start(whole, run)
    assert first.key != second.key and len(second.key) > 30
    assert second.key.encode() in run.stdin
    assert second.key not in " ".join(run.command)


def test_module_in_the_working_folder_cannot_shadow_ours(whole: Path) -> None:
    run = ReplacingRunner("""echo '{"port": 1}'; exec sleep 600""")
    start(whole, run)
    assert list(run.command)[:2] == [sys.executable, "-P"]


def test_child_that_ends_before_it_is_ready_says_why(whole: Path) -> None:
    with pytest.raises(
        ProviderError, match="did not start: it ended with exit code 3: no room for the model"
    ):
        start(whole, ReplacingRunner("echo no room for the model >&2; exit 3"))
    with pytest.raises(ProviderError, match="signal 9"):
        start(whole, ReplacingRunner("kill -9 $$"))


def test_child_that_is_never_ready_is_killed(whole: Path) -> None:
    run = ReplacingRunner("exec sleep 600")
    with pytest.raises(ProviderError, match=r"not ready within 0\.2 s"):
        start(whole, run, 0.2)
    assert not is_alive(run.started)


def test_cancelling_the_start_kills_the_child(whole: Path) -> None:
    run = ReplacingRunner("exec sleep 600")

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), EmbeddedServer(whole, run):
                pytest.fail("it cannot be ready")

    asyncio.run(main())
    assert not is_alive(run.started)


def test_error_inside_the_block_propagates(whole: Path) -> None:
    async def main() -> None:
        async with EmbeddedServer(whole, ReplacingRunner("""echo '{"port": 1}'; exec sleep 600""")):
            raise KeyError("ours")

    with pytest.raises(KeyError):
        asyncio.run(main())


def test_child_output_goes_to_the_log_up_to_a_limit(
    whole: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log.to(tmp_path / "logs")
    done = tmp_path / "done"
    text = f"""echo '{{"port": 1}}'; yes a line of noise | head -c 300000; touch {done}; exec sleep 600"""

    async def main() -> None:
        async with EmbeddedServer(whole, ReplacingRunner(text)):
            while not done.exists():  # noqa: ASYNC110 - the child has no other way to tell
                await asyncio.sleep(0.01)

    try:
        asyncio.run(main())
    finally:
        log.to(None)
    written = (tmp_path / "logs" / "tau.log").read_text()
    assert "demo server: a line of noise" in written and "not logging the rest" in written
    assert written.count("a line of noise") == 64 * 1024 // len("a line of noise") + 1
    assert "64 KiB" in written
    assert capfd.readouterr() == ("", "")


def test_long_line_of_the_child_is_logged_in_part(whole: Path, tmp_path: Path) -> None:
    log.to(tmp_path / "logs")
    try:
        with pytest.raises(TauError) as caught:
            start(whole, ReplacingRunner("head -c 9000 /dev/zero | tr '\\0' x; echo; exit 3"))
    finally:
        log.to(None)
    assert str(caught.value) == (
        f"The demo model's server did not start: it ended with exit code 3: {'x' * 4096}."
    )
    written = (tmp_path / "logs" / "tau.log").read_text()
    assert "x" * 4096 in written and "x" * 4097 not in written
    assert "The demo model's server ended (exit code 3)." in written


def test_missing_extra_is_named(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(TauError, match=r"pip install 'tau-agent\[local\]'"):
        start(whole, LocalRunner())


def test_missing_and_damaged_weights_are_named(whole: Path) -> None:
    with pytest.raises(TauError, match=r"are missing at .*python -m tau.ai.local.weights"):
        start(whole.with_name("other.gguf"), LocalRunner())
    whole.write_bytes(b"weight")
    with pytest.raises(TauError, match=r"are damaged.*python -m tau.ai.local.weights"):
        start(whole, LocalRunner())


def test_demo_model_is_free_with_minimal_requirements() -> None:
    model = demo_model("http://127.0.0.1:1/v1")
    assert model.key == "demo/smollm2-135m" and model.api == "openai-completions"
    assert (model.cost.input, model.cost.output, model.context_window) == (0, 0, 8192)
    assert model.max_tokens == 256 and model.demo
    assert not model.compat.supports_reasoning_effort
    assert not model.compat.supports_parallel_tool_calls and not model.compat.cache_control
    assert (
        model.compat.first_tool_call_only and not model.compat.supports_developer_role and not model.reasoning
    )


def test_demo_server_keeps_no_earlier_prompts_in_memory() -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra `local`")
    launch = ServerLaunch(weights="/weights.gguf", key="k", model_id="m", context_tokens=4096)
    settings: Any = parameters(launch, 2)
    assert (settings.cache_ram_mib, settings.cache_idle_slots, settings.n_parallel) == (0, False, 1)
