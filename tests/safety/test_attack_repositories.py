"""Git folders that lie about where they belong: they open nothing, and tau changes nothing there."""

import os
from pathlib import Path

import pytest

from tau.backends.sandbox.git_guard import GitGuard
from tau.backends.sandbox.repositories import MAX_FOLDERS
from tests.safety.sandbox_rig import ENGINES, SECRET, Inside, Place, git, in_sandbox
from tests.support.soak import pairs


def lying_repository(folder: Path, common: str) -> None:
    """A folder that looks like a bare repository, as anyone can commit one, whose settings are elsewhere."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "commondir").write_text(f"{common}\n")


def write_and_read(place: Place) -> str:
    written = [place.home / ".bashrc", place.outside / "new", place.credentials.parent / "settings.json"]
    tries = [f"python3 -c \"open('{path}', 'a').write('x')\" 2>/dev/null && echo wrote" for path in written]
    return "; ".join([*tries, f"cat {place.home}/.ssh/id_ed25519 {place.home}/.aws/*"])


@pytest.mark.parametrize(
    ("common", "engine"),
    pairs(["../../..", "../../../.ssh", "../../../.aws", "../../../outside", "/"], ENGINES),
)
def test_repository_that_names_a_folder_outside_opens_nothing(
    tmp_path: Path, engine: str, common: str
) -> None:
    place = Place(tmp_path)
    lying_repository(place.project / "tests/fixture", common)
    for name in (".ssh", ".aws"):
        (place.home / name / "config").write_text(SECRET)

    async def work(inside: Inside) -> str:
        return await inside.text(write_and_read(place))

    text = in_sandbox(place, work, engine)
    assert "wrote" not in text and SECRET not in text


@pytest.mark.parametrize("engine", ENGINES)
def test_home_as_workspace_keeps_what_is_hidden_hidden(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    lying_repository(place.home / "code/fixture", "../../.ssh")
    (place.home / ".ssh/HEAD").write_text("ref: refs/heads/main\n")
    (place.home / "code/.git").write_text("gitdir: ../.ssh\n")
    place.project = place.home

    async def work(inside: Inside) -> str:
        return await inside.text(f"cat {place.home}/.ssh/id_ed25519; echo x > {place.home}/.ssh/new")

    assert SECRET not in in_sandbox(place, work, engine)
    assert not (place.home / ".ssh/new").exists()


@pytest.mark.parametrize("pointer", ["file", "link"])
def test_repository_outside_that_a_new_pointer_names_is_left_alone(tmp_path: Path, pointer: str) -> None:
    place = Place(tmp_path)
    other = place.init(place.outside / "other")
    git(other, "config", "core.sshCommand", "ssh -v")
    hook = other / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    config = (other / ".git/config").read_bytes()
    point = f"ln -s {other}/.git sub/.git" if pointer == "link" else f"echo 'gitdir: {other}/.git' > sub/.git"

    async def work(inside: Inside) -> list[str]:
        await inside.run(f"mkdir sub && {point}")
        return inside.sandbox.check_repositories()

    notes = in_sandbox(place, work)
    assert any("New Git repository" in note for note in notes)
    assert (other / ".git/config").read_bytes() == config
    assert os.access(hook, os.X_OK)


def test_submodule_as_workspace_commits(tmp_path: Path) -> None:
    place = Place(tmp_path)
    library = place.init(place.outside / "library")
    above = place.init(place.outside / "above")
    git(above, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    place.project = above / "lib"

    async def work(inside: Inside) -> str:
        return await inside.text("echo 1 > new && git add . && git commit -qm one && git log --format=%s -1")

    assert in_sandbox(place, work) == "one\n"


def test_new_hook_is_judged_before_the_sandbox_starts_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    hook = place.project / "evil/.git/hooks/post-checkout"

    async def work(inside: Inside) -> None:
        await inside.run(f"git init -q evil && echo '#!/bin/sh' > {hook} && chmod +x {hook}")
        await inside.sandbox.change(place.options(write=(str(place.outside),)))
        await inside.run("true")

    in_sandbox(place, work)
    assert hook.exists() and not os.access(hook, os.X_OK)


def test_repositories_of_an_added_folder_are_guarded(tmp_path: Path) -> None:
    place = Place(tmp_path)
    added = place.init(place.outside / "added")

    async def work(inside: Inside) -> str:
        await inside.run("true")
        options = place.options()
        both = type(options)(
            roots=(place.project, added),
            caches=options.caches,
            mode="required",
            rules=options.rules,
        )
        await inside.sandbox.change(both)
        return await inside.text(f"echo x > {added}/file && echo wrote; echo x >> {added}/.git/config")

    text = in_sandbox(place, work)
    assert "wrote" in text and "Read-only file system" in text


def test_known_repositories_stay_guarded_however_many_folders_there_are(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.init(place.project / "z/nested")
    guard = GitGuard([place.project])
    assert len(guard.find()) == 1
    for number in range(MAX_FOLDERS):
        (place.project / f"a{number}").mkdir()
    assert len(guard.find()) == 1


def test_repository_below_what_looks_like_a_bare_one_is_judged(tmp_path: Path) -> None:
    place = Place(tmp_path)
    lying_repository(place.project / "docs", ".")
    guard = GitGuard([place.project])
    guard.find()
    for folder in ("docs/nested", "docs/a/b"):
        repository = place.init(place.project / folder)
        (repository / ".git/hooks").mkdir(exist_ok=True)
        (repository / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
        (repository / ".git/hooks/pre-commit").chmod(0o755)
        notes = "\n".join(guard.check())
        assert f"New Git repository: {repository}." in notes
        assert f"{repository}/.git/hooks/pre-commit is new and could run programs; it is disabled" in notes
    lying_repository(place.project / "new", ".")
    assert f"New Git repository: {place.project}/new." in guard.check()


@pytest.mark.parametrize("deep", [False, True])
def test_user_reads_once_that_commands_made_more_folders_than_are_searched(
    tmp_path: Path, deep: bool
) -> None:
    place = Place(tmp_path)
    guard = GitGuard([place.project])
    guard.find()
    assert guard.check() == []
    for number in range(1 if deep else MAX_FOLDERS):
        (place.project / f"a{number}" / ("x/" * 10 if deep else "")).mkdir(parents=True)
    assert "more or deeper folders" in "".join(guard.check())
    assert guard.check() == []
    guard.find()  # the next sandbox: said already, in `tau sandbox explain`
    assert guard.check() == []


def test_hooks_folder_that_becomes_a_link_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    repository = place.init(place.project)
    programs = place.outside / "bin"
    programs.mkdir()
    (programs / "tool").write_text("#!/bin/sh\n")
    (programs / "tool").chmod(0o755)
    guard = GitGuard([place.project])
    guard.find()
    hooks = repository / ".git/hooks"
    (hooks / "tool").write_text("#!/bin/sh\n")
    (hooks / "tool").chmod(0o755)
    real_lstat = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        found = real_lstat(path)
        if path == hooks / "tool" and not hooks.is_symlink():  # a command that still runs is quick
            hooks.rename(repository / "aside")
            hooks.symlink_to(programs)
        return found

    monkeypatch.setattr(Path, "lstat", lstat)
    guard.check()
    assert hooks.is_symlink()
    assert os.access(programs / "tool", os.X_OK)
