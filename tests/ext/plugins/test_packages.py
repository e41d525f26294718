"""Python and npm packages as plugins, installed by the real pip and npm."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import TauError
from tau.base.version import VERSION
from tau.coding.supplies import Supplies
from tau.config.paths import user_paths
from tau.config.settings import Settings
from tau.ext.plugins import packages
from tau.ext.plugins.commands import Plugins
from tau.modes.extensions_report import toggle
from tests.ext.extensions.host import opened
from tests.ext.plugins.test_store import manage, plugin
from tests.ext.plugins.wheels import make_wheel, npm_registry


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_wheel_is_installed_loaded_updated_and_removed(tmp_path: Path) -> None:
    plugins = manage(tmp_path)
    wheel = make_wheel(tmp_path / "w", "wheeled", "1.0", f"tau-agent>={VERSION}")
    assert plugins.install(str(wheel)) == ["Installed wheeled 1.0. It is loaded with the next session."]
    wheel.unlink()
    assert [(one.name, one.version, one.kind) for one in plugins.records()] == [("wheeled", "1.0", "package")]
    assert not list(plugins.packages.link.glob("tau*"))

    async def main() -> None:
        async with opened(tmp_path) as rig:
            [report] = rig.extensions.report()
            assert (report.name, report.origin, report.state) == ("wheeled", "package", "loaded")
            await rig.extensions.run_command("/wheeled")
            assert "wheeled 1.0" in rig.notices

    asyncio.run(main())
    plugins.install(str(make_wheel(tmp_path / "w", "wheeled", "2.0")))
    assert [one.version for one in plugins.records()] == ["2.0"]
    assert "wheeled is up to date." in plugins.update(())
    assert "  source: " in "\n".join(plugins.show("wheeled"))
    with pytest.raises(TauError, match="extension-module:NAME"):
        plugins.set_enabled("wheeled", enabled=False)
    supplies = Supplies(tmp_path, plugins.paths, Settings())
    toggle("extension-module:wheeled", plugins.paths, supplies, on=False)

    async def without() -> None:
        async with opened(tmp_path) as rig:
            assert rig.extensions.report() == []

    asyncio.run(without())
    plugins.remove("wheeled")
    assert plugins.records() == [] and not (plugins.packages.link / "wheeled.py").exists()


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ("msgspec<0.10", r"clash 1.0 depends on msgspec<0.10; tau uses msgspec 0\."),
        ("tau-agent>=99", f"clash 1.0 depends on tau-agent>=99; tau uses tau-agent {VERSION}"),
    ],
)
def test_a_conflict_names_both_and_changes_nothing(needs: str, words: str, tmp_path: Path) -> None:
    plugins = manage(tmp_path)
    plugins.install(str(make_wheel(tmp_path / "w", "kept")))
    folders = sorted(plugins.packages.folder.iterdir())
    with pytest.raises(TauError, match=words):
        plugins.install(str(make_wheel(tmp_path / "w", "clash", "1.0", needs)))
    assert [one.name for one in plugins.records()] == ["kept"]
    assert sorted(plugins.packages.folder.iterdir()) == folders


def test_a_change_that_is_killed_leaves_the_old_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = manage(tmp_path)

    async def install(requirements: Any, target: Path) -> None:
        for one in requirements:
            (target / f"{packages.package_name(one)}-1.0.dist-info").mkdir()

    monkeypatch.setattr(packages, "_install", install)
    plugins.install("one")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda self, target: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            plugins.install("two")
    assert [one.name for one in plugins.records()] == ["one"]
    plugins.install("two")
    assert [one.name for one in plugins.records()] == ["one", "two"]
    plugins.install("three")
    assert len(list(plugins.packages.folder.glob("packages-*"))) == 2  # that of running sessions stays


def test_an_npm_package_of_a_marketplace_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    plugin(tmp_path / "src")
    (tmp_path / "src" / "package.json").write_text('{"name": "npm-demo", "version": "1.0.0"}')
    (tmp_path / "m" / ".claude-plugin").mkdir(parents=True)
    rows = '[{"name": "demo", "source": {"source": "npm", "package": "npm-demo"}}, '
    rows += '{"name": "gone", "source": {"source": "npm", "package": "npm-gone"}}]'
    (tmp_path / "m" / ".claude-plugin" / "marketplace.json").write_text(f'{{"name": "m", "plugins": {rows}}}')
    plugins = Plugins(user_paths(), tmp_path)
    plugins.marketplace(("add", str(tmp_path / "m")))
    with npm_registry("npm-demo", tmp_path / "src") as address:
        monkeypatch.setenv("npm_config_registry", address)
        plugins.install("demo@m")
        with pytest.raises(TauError, match="Fetching npm-gone with npm failed: 404 Not Found"):
            plugins.install("gone@m")
    [record] = plugins.store.records()
    assert (plugins.store.path(record) / "commands" / "hi.md").read_text() == "Say one"
