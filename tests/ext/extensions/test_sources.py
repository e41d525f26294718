"""Where extensions come from, and what they read: flags, plugins, settings, renamed names, responses."""

import asyncio
import os
from pathlib import Path

import pytest

from tau.base.errors import TauError
from tau.ext.extensions import deprecated_names
from tau.sdk import SessionOptions, create_session
from tests.ext.extensions.host import opened
from tests.ext.plugins.test_store import manage
from tests.support.fake_server import FakeServer
from tests.support.idle import until
from tests.support.limits import HANG_S

SAYS = "    tau.command('where', lambda args, ctx: ctx.ui.notify(__file__))\n"


def test_hooks_given_by_path_run_without_other_extensions(tmp_path: Path) -> None:
    (tmp_path / "given.py").write_text(
        "from tau.ext import Deny\n\n\ndef hook(tau):\n    tau.on('input', lambda event, ctx: 'changed')\n"
        + SAYS
    )
    (tmp_path / "other.py").write_text("raise SystemExit\n")

    async def main() -> None:
        options = {"hook_files": ("given.py",), "no_extensions": True}
        async with opened(tmp_path, settings={"extensions": ["other.py"]}, **options) as rig:
            await rig.session.prompt("as typed")
            assert "changed" in str(rig.faux.requests[0].messages[-1])
            [report] = rig.extensions.report()
            assert (report.name, report.origin, report.state) == ("given", "flag", "loaded")

    asyncio.run(main())


def test_custom_tools_are_functions_or_factories_and_see_the_session_start(tmp_path: Path) -> None:
    folder = Path(os.environ["TAU_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "plain.py").write_text("def plain(text: str) -> str:\n    return text\n")
    (folder / "several.py").write_text(
        "started = []\n\n\ndef on_session(event, ctx):\n    started.append(event.reason)\n\n\n"
        "def one() -> str:\n    return '1'\n\n\ndef two() -> str:\n    return '2'\n\n\n"
        "def tools(tau):\n    return [one, two]\n"
    )

    async def main() -> None:
        async with opened(tmp_path) as rig:
            assert {"plain", "one", "two"} <= {tool.name for tool in rig.session.tools}
            several = next(one for one in rig.extensions.extensions if one.name == "several")
            await rig.until(lambda: several.module.started == ["startup"], "the start")

    asyncio.run(main())


def plugin_with(folder: Path, code: str) -> Path:
    (folder / ".claude-plugin").mkdir(parents=True)
    settings = (
        '{"level": {"type": "number", "default": 3}, "color": {"enum": ["red", "blue"], "default": "red"}}'
    )
    manifest = f'{{"name": "demo", "version": "1", "settings": {settings}}}'
    (folder / ".claude-plugin" / "plugin.json").write_text(manifest)
    (folder / "extensions").mkdir()
    (folder / "extensions" / "own.py").write_text(code)
    return folder


def test_a_plugin_folder_given_for_one_session_replaces_the_installed_copy(tmp_path: Path) -> None:
    plugins = manage(tmp_path)
    code = "def extension(tau):\n" + SAYS
    plugins.install(str(plugin_with(tmp_path / "old", code)))
    given = plugin_with(tmp_path / "new", code)

    async def main() -> None:
        async with opened(tmp_path, plugin_dirs=(given,)) as rig:
            await rig.extensions.run_command("/where")
            assert f"{given}/extensions/own.py" in rig.notices
            await rig.extensions.reload()
            assert [report.path for report in rig.extensions.report()] == [f"{given}/extensions/own.py"]

    asyncio.run(main())


@pytest.mark.parametrize("isolation", ["", "isolation = 'process'\n"])
def test_an_extension_reads_the_settings_of_its_plugin(isolation: str, tmp_path: Path) -> None:
    code = (
        "def extension(tau):\n    tau.command('told', lambda args, ctx: ctx.ui.notify(str(tau.settings)))\n"
    )
    plugins = manage(tmp_path)
    plugins.install(str(plugin_with(tmp_path / "src", isolation + code)))
    assert plugins.config("demo") == ["level = 3", 'color = "red"']
    assert plugins.config("demo", "level", "7") == ["level = 7"]
    for key, value, words in (
        ("level", "many", 'needs a number, not "many"'),
        ("color", "green", "can be red or blue"),
        ("size", "1", 'has no setting "size"; it has level, color'),
    ):
        with pytest.raises(TauError, match=words):
            plugins.config("demo", key, value)

    async def main() -> None:
        async with opened(tmp_path) as rig:
            await rig.extensions.run_command("/told")
            assert "{'level': 7, 'color': 'red'}" in rig.notices

    asyncio.run(main())
    assert plugins.config("demo", "level", reset=True) == ["level = 3"]


def test_a_renamed_name_works_and_its_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(deprecated_names.RENAMED, "Refuse", "Deny")
    monkeypatch.setitem(deprecated_names.RENAMED, "ExtensionAPI.add_command", "ExtensionAPI.command")
    code = (
        "from tau.ext import (\n    ExtensionAPI,\n    Refuse,\n)\n\n\ndef extension(tau):\n"
        "    assert Refuse.__name__ == 'Deny'\n    tau.add_command('old', lambda args, ctx: None)\n"
    )
    (tmp_path / "e.py").write_text(code)

    async def main() -> None:
        async with opened(tmp_path, extensions=("e.py",)) as rig:
            said = "\n".join(rig.notices)
            assert f"{tmp_path}/e.py:1: Refuse goes with the next minor version of tau; use Deny." in said
            assert f"{tmp_path}/e.py:9: ExtensionAPI.add_command goes" in said
            assert [one.name for one in rig.extensions.commands()] == ["old"]

    asyncio.run(main())
    plugins = manage(tmp_path)
    plugins.link(str(plugin_with(tmp_path / "src", code)))
    found = "\n".join(plugins.doctor())
    assert "own.py:1: Refuse goes soon; use Deny" in found
    assert "own.py:9: tau.add_command goes soon; use ExtensionAPI.command" in found


def test_a_file_given_on_the_command_line_is_loaded_again_when_it_changes(tmp_path: Path) -> None:
    code = "def extension(tau):\n    tau.command('one', lambda args, ctx: None)\n"

    async def main() -> None:
        async with opened(tmp_path, code, watch_extensions=True) as rig:
            rig.extensions.attach(NoFace())
            (tmp_path / "e.py").write_text(code.replace("one", "two"))
            os.utime(tmp_path / "e.py", ns=(1, 1))
            await rig.until(lambda: [one.name for one in rig.extensions.commands()] == ["two"], "the change")

    asyncio.run(main())


class NoFace:
    mode, screen, display = "sdk", None, None


def test_handlers_see_the_headers_of_a_response(tmp_path: Path) -> None:
    seen: list[tuple[int, str]] = []

    def extension(tau: object) -> None:
        tau.on(  # type: ignore[attr-defined]
            "after_provider_response",
            lambda event, ctx: seen.append((event.status, event.headers.get("content-type", ""))),
        )

    async def main() -> None:
        with FakeServer() as server:
            options = SessionOptions(
                cwd=tmp_path,
                save=False,
                provider="openai-compatible",
                model="m",
                base_url=f"{server.url}/v1",
                api_key="x",
                extension_functions=(extension,),
            )
            async with create_session(options) as session:
                await session.prompt("hi")
                await until(lambda: seen, HANG_S, lambda: "no response was seen")

    asyncio.run(main())
    assert seen[0][0] == 200 and "event-stream" in seen[0][1]
