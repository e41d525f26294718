"""What the agent writes into a trusted repository does not run before the user trusts it; reloads too."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say, Use
from tau.backends.lsp.config import find_servers
from tau.backends.lsp.pool import LanguageServers
from tau.base.errors import ExtensionError
from tau.base.run import LocalRunner
from tau.config.paths import user_paths
from tau.config.trust import TrustStore, has_changed
from tests.coding.tools.test_debug import debug, use_fake
from tests.coding.tools.test_lsp import results
from tests.ext.extensions.host import opened


def test_an_extension_that_the_agent_writes_is_not_loaded_by_a_reload(tmp_path: Path) -> None:
    own, ran = tmp_path / ".tau/extensions", tmp_path / "ran"
    own.mkdir(parents=True)
    (own / "first.py").write_text("def extension(tau): ...\n")
    TrustStore(user_paths(os.environ)).trust(tmp_path)
    evil = f"import pathlib\npathlib.Path({str(ran)!r}).touch()\ndef extension(tau): ...\n"
    write = Use("write", path=".tau/extensions/second.py", content=evil)
    again = Use("write", path=".tau/extensions/first.py", content=evil)

    async def main() -> None:
        async with opened(tmp_path, "", [[write, again], [Say("Done.")]]) as rig:
            assert [one.name for one in rig.extensions.report()] == ["first"]
            await rig.session.prompt("go")
            assert (own / "second.py").read_text() == evil
            said = await rig.extensions.reload()
            assert not ran.exists()
            assert "tau trust" in "\n".join((*said, *rig.notices))

    asyncio.run(main())


def test_an_extension_that_waits_is_not_loaded_after_the_agent_changed_it(tmp_path: Path) -> None:
    own, ran = tmp_path / ".tau/extensions", tmp_path / "ran"
    own.mkdir(parents=True)
    code = 'activation = ["command:later"]\ndef extension(tau):\n    tau.command("later", lambda *_: None)\n'
    (own / "first.py").write_text(code)
    TrustStore(user_paths(os.environ)).trust(tmp_path)
    evil = f"import pathlib\npathlib.Path({str(ran)!r}).touch()\n{code}"
    write = Use("write", path=".tau/extensions/first.py", content=evil)

    async def main() -> None:
        async with opened(tmp_path, "", [[write], [Say("Done.")]]) as rig:
            assert [one.name for one in rig.extensions.commands()] == ["later"]
            await rig.session.prompt("go")
            with pytest.raises(ExtensionError, match="changed since you trusted it"):
                await rig.extensions.run_command("/later")
            assert not ran.exists()

    asyncio.run(main())


def starting(mark: Path, suffix: str) -> dict[str, Any]:
    """A server or debug adapter that only leaves a mark."""
    command = {"command": "/bin/sh", "args": ["-c", f"touch {mark}"]}
    return {**command, "fileTypes": [suffix], "rootMarkers": [f"*{suffix}"]}


def test_a_debug_adapter_that_the_agent_writes_does_not_start(tmp_path: Path) -> None:
    (tmp_path / ".tau").mkdir()
    (tmp_path / ".tau/mcp.json").write_text('{"mcpServers": {"x": {"command": "x", "enabled": false}}}')
    (tmp_path / "main.x").write_text("one\ntwo\nthree\n")
    TrustStore(user_paths(os.environ)).trust(tmp_path)
    mark = tmp_path / "started"
    use_fake()
    text = json.dumps({"adapters": {"evil": starting(mark, ".x")}})
    write = Use("write", path="dap.json", content=text)
    calls = (write, debug("launch", program="main.x", adapter="evil"))
    *_, refused = results(tmp_path, *calls, settings={"tools.approvalMode": "yolo"})
    assert (tmp_path / "dap.json").exists()
    assert "evil" in refused and not mark.exists()


def test_a_language_server_that_the_agent_writes_is_not_used(tmp_path: Path) -> None:
    paths, runner = user_paths(os.environ), LocalRunner()
    (tmp_path / "main.x").touch()
    own = {"servers": {"own": starting(tmp_path / "own", ".x") | {"command": sys.executable}}}
    (tmp_path / "lsp.json").write_text(json.dumps(own))
    TrustStore(paths).trust(tmp_path)

    async def main() -> list[str]:
        found = find_servers(tmp_path, paths, os.environ, trusted=True)
        assert [spec.name for spec in found.usable] == ["own"]
        async with LanguageServers(tmp_path, runner, paths, os.environ, found, trusted=True) as pool:
            pool.has_changed = lambda: has_changed(tmp_path, paths)
            own["servers"]["evil"] = starting(tmp_path / "ran", ".x")
            (tmp_path / "lsp.json").write_text(json.dumps(own))
            await pool.look_again(force=True)
            return [spec.name for spec in pool.found.usable]

    assert asyncio.run(main()) == []
    runner.close()
