"""Commands that move folders, or find a mount gone, replace no file that tau guards."""

import os
from pathlib import Path

import pytest

from tests.safety.sandbox_rig import ENGINES, Inside, Place, git, in_sandbox
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
def test_repository_in_the_place_of_a_moved_one_is_disabled(tmp_path: Path, engine: str, way: str) -> None:
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
def test_repository_in_the_place_of_a_moved_one_is_disabled_after_a_kill(
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
