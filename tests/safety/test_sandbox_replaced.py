"""Commands that move folders, or find a mount gone, replace no file that tau guards."""

import os
from pathlib import Path

import pytest

from tau.backends.sandbox.closed_paths import MissingPaths
from tests.safety.sandbox_rig import ENGINES, SECRET, Inside, Place, git, in_sandbox
from tests.safety.test_sandbox_killed import make_hook, open_next, run_and_kill

MAKE_EVIL = (
    "mkdir -p {0}/hooks && cp -r {1}/HEAD {1}/objects {1}/refs {0} && echo > {0}/hooks/pre-commit"
    " && printf '[core]\\n\\tfsmonitor = evil\\n' > {0}/config && chmod +x {0}/hooks/pre-commit"
)
REPLACED = {
    "repository in a folder": ("sub/.git", "mv sub old && " + MAKE_EVIL.format("sub/.git", "old/.git")),
    "repository deeper down": ("a/b/.git", "mv a old && " + MAKE_EVIL.format("a/b/.git", "old/b/.git")),
    "submodule": (
        ".git/modules/lib",
        "mv .git/modules .git/old && " + MAKE_EVIL.format(".git/modules/lib", ".git/old/lib"),
    ),
}


def make_repositories(place: Place) -> None:
    for folder in (place.project, place.project / "sub", place.project / "a/b"):
        make_hook(place.init(folder))
    source = place.init(place.outside / "lib")
    git(place.project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "lib")
    hook = place.project / ".git/modules/lib/hooks/pre-commit"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)


def assert_disabled(folder: Path) -> None:
    assert "evil" not in (folder / "config").read_text()
    hook = folder / "hooks/pre-commit"
    assert not os.access(hook, os.X_OK) or hook.read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", REPLACED)
def test_repository_that_replaces_a_moved_one_is_disabled(tmp_path: Path, engine: str, way: str) -> None:
    place = Place(tmp_path)
    make_repositories(place)

    async def work(inside: Inside) -> list[str]:
        done = await inside.run(REPLACED[way][1])
        assert done.exit.code == 0, done.output
        return inside.sandbox.check_repositories()

    assert in_sandbox(place, work, engine)
    assert_disabled(place.project / REPLACED[way][0])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", REPLACED)
def test_repository_that_replaces_a_moved_one_is_disabled_after_a_kill(
    tmp_path: Path, engine: str, way: str
) -> None:
    place = Place(tmp_path)
    make_repositories(place)
    run_and_kill(place, engine, REPLACED[way][1])
    assert open_next(place, engine)
    assert_disabled(place.project / REPLACED[way][0])


@pytest.mark.parametrize("engine", ENGINES)
def test_setting_made_after_the_user_changed_the_file_is_disabled(tmp_path: Path, engine: str) -> None:
    """Git replaces the file, which ends its mount in the sandbox."""
    place = Place(tmp_path)
    place.init(place.project)
    git(place.project, "config", "alias.mine", "!mine")

    async def work(inside: Inside) -> tuple[list[str], list[str]]:
        git(place.project, "remote", "add", "origin", "https://example.com/x")
        before = inside.sandbox.check_repositories() if engine != "landlock" else []
        await inside.run("git config alias.st '!evil'")
        return before, inside.sandbox.check_repositories()

    before, _ = in_sandbox(place, work, engine)
    assert before == []  # the user's own aliases stay
    assert "evil" not in (place.project / ".git/config").read_text()


def test_settings_that_the_user_changed_after_a_kill_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.init(place.project)
    git(place.project, "config", "alias.mine", "!mine")
    run_and_kill(place, "auto", "true")
    git(place.project, "remote", "add", "origin", "https://example.com/x")
    assert open_next(place) == []
    assert "!mine" in (place.project / ".git/config").read_text()


@pytest.mark.parametrize("engine", ENGINES)
def test_folder_of_a_hidden_file_keeps_its_name(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    key = place.project / "a/b/key"
    key.parent.mkdir(parents=True)
    key.write_text(SECRET)

    async def work(inside: Inside) -> str:
        moved = await inside.text(
            "mv a c; mv a/b a/c; cat c/b/key a/c/key a/b/key; echo new > a/b/new; echo x > y"
        )
        return moved + await inside.text("mv y a/b/y; cat a/b/y")

    text = in_sandbox(place, work, engine, hide=(str(key),))
    assert SECRET not in text
    assert key.read_text() == SECRET
    if engine != "landlock":  # where new files can be made only in its subfolders
        assert text.endswith("x\n")
        assert (key.parent / "new").read_text() == "new\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_startup_file_behind_a_link_is_disabled(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    place.project = place.home
    command = "mkdir other; ln -s other .config; mkdir .config/autostart; touch .config/autostart/x"

    async def work(inside: Inside) -> list[str]:
        await inside.run(command)
        return inside.sandbox.check_repositories()

    notes = in_sandbox(place, work, engine)
    assert not (place.home / ".config").exists()
    assert bool(notes) == (place.home / ".config.disabled").is_symlink()


def test_link_of_the_user_to_startup_files_stays(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.project = place.home
    (place.home / "dotfiles").mkdir()
    (place.home / ".config").symlink_to("dotfiles")

    async def work(inside: Inside) -> list[str]:
        await inside.run("mkdir .config/autostart dotfiles/autostart")
        return inside.sandbox.check_repositories()

    assert in_sandbox(place, work) == []
    assert (place.home / ".config").is_symlink()
    assert not (place.home / "dotfiles/autostart").exists()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name",
    [
        *("credentials", "settings with a password", "hidden file", "first credentials"),
        *("first credentials of another program", "settings that get a password"),
    ],
)
def test_file_that_is_replaced_while_the_sandbox_runs_stays_hidden(
    tmp_path: Path, engine: str, name: str
) -> None:
    """As by `/login`, a refreshed token or an editor: what replaces a file ends the mount over it."""
    place = Place(tmp_path)
    files = {
        "credentials": place.credentials,
        "settings with a password": place.home / ".npmrc",
        "hidden file": place.project / ".env",
        "first credentials": place.credentials,
        "first credentials of another program": place.home / ".netrc",
        "settings that get a password": place.home / ".npmrc",
    }
    text = f"//registry.example/:_authToken={SECRET.replace(' ', '-')}\n"
    path = files[name]
    path.write_text(text)
    if name.startswith("first"):
        path.unlink()
    elif name == "settings that get a password":
        path.write_text("color=false\n")

    async def work(inside: Inside) -> tuple[str, str]:
        before = await inside.text(f"cat {path}")
        (place.outside / "new").write_text(text)
        (place.outside / "new").replace(path)
        assert await inside.runner.prepare()  # as before each call
        return before, await inside.text(f"cat {path}")

    shown = in_sandbox(place, work, engine, hide=(str(place.project / ".env"),))
    assert "nobody" not in "".join(shown)


@pytest.mark.parametrize("engine", ENGINES)
def test_credentials_behind_a_link_that_led_to_nothing_are_hidden(tmp_path: Path, engine: str) -> None:
    """As in a home whose dotfiles are links: the program that logs in writes the file itself."""
    place = Place(tmp_path)
    target = place.outside / "netrc"
    (place.home / ".netrc").symlink_to(target)

    async def work(inside: Inside) -> str:
        before = await inside.text("cat ~/.netrc")
        target.write_text(SECRET)
        assert await inside.runner.prepare()
        return before + await inside.text("cat ~/.netrc")

    assert SECRET not in in_sandbox(place, work, engine)


def test_files_in_folders_that_do_not_exist_yet_are_found_once_they_do(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a/b/c", "a/b/d", "a/e", "f", "g/h")]
    (tmp_path / "g").symlink_to("later")
    missing = MissingPaths(names)
    assert missing.find_new() == []
    (tmp_path / "a/b").mkdir(parents=True)
    assert missing.find_new() == []
    (tmp_path / "a/b/c").touch()
    (tmp_path / "f").symlink_to("nothing")
    assert missing.find_new() == names[:1]
    (tmp_path / "later").mkdir()
    (tmp_path / "later/h").touch()
    (tmp_path / "nothing").touch()
    (tmp_path / "a/b/d").touch()
    assert sorted(missing.find_new()) == [names[1], names[3], names[4]]
    assert missing.find_new() == []
    assert missing.names == {names[2]}


@pytest.mark.parametrize("engine", ENGINES)
def test_settings_in_a_new_folder_with_a_password_are_shown_without_it(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    file = place.home / ".config/pip/pip.conf"

    async def work(inside: Inside) -> str:
        file.parent.mkdir(parents=True)
        assert await inside.runner.prepare()
        file.write_text("[global]\nindex-url = https://me:s3cr3tVALUE99@h.example/simple\n")
        assert await inside.runner.prepare()
        return await inside.text(f"cat {file}")

    text = in_sandbox(place, work, engine)
    assert "s3cr3tVALUE99" not in text
    if engine != "landlock":  # where it is hidden
        assert "h.example" in text
