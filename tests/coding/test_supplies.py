"""A session gets its prompt from files, and the instructions of a folder when a tool first touches it."""

import asyncio
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tau.ai.faux import FAUX_MODEL, Faux, FauxStep, Say, Use
from tau.ai.wire import CustomMessage
from tau.coding.session.session import Session
from tau.config.paths import user_paths
from tau.config.trust import TrustStore
from tau.modes.session_report import file_rows
from tau.sdk import SessionOptions, create_session
from tests.coding.skills.skill_files import put_skill


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo/.git").mkdir(parents=True)
    return tmp_path / "repo"


def run(
    repo: Path, script: Sequence[Sequence[FauxStep]], *prompts: str, **options: object
) -> tuple[Session, Faux]:
    """A session after these prompts, and its model."""
    faux = Faux(script)

    async def main() -> Session:
        made = SessionOptions(cwd=repo, stream=faux.stream, **options)  # type: ignore[arg-type]
        async with create_session(made) as session:
            for prompt in prompts:
                await session.prompt(prompt)
            return session

    return asyncio.run(main()), faux


def notes(session: Session) -> list[str]:
    return [
        str(message.content)
        for message in session.log.messages()
        if isinstance(message, CustomMessage) and message.custom_type == "nested-context"
    ]


def test_prompt_is_unchanged_when_nothing_is_found(repo: Path) -> None:
    session, _ = run(repo, [[Say("ok")]], save=False)
    before = session.setup().system
    assert "kill" not in before and "<instructions" not in before
    put_skill(repo / ".tau/skills/x")
    session, _ = run(repo, [[Say("ok")]], save=False)
    assert "- x: Does it\n" in session.setup().system


def test_nested_instructions_are_sent_once_and_the_prompt_stays_the_same(repo: Path) -> None:
    (repo / "AGENTS.md").write_text("Root rules.")
    for folder, text in (("a", "Rules of a."), ("a/b", "Rules of b."), ("c", "Rules of c.")):
        (repo / folder).mkdir()
        (repo / folder / "AGENTS.md").write_text(text)
        (repo / folder / "x.txt").write_text("text")
    script = [
        [Use("read", path="AGENTS.md")],
        [Use("read", path="a/b/x.txt"), Use("read", path="a/x.txt")],
        [Use("read", path="a/b/x.txt")],
        [Say("done")],
        [Use("read", path="c/missing.txt")],
        [Use("read", path="a/x.txt")],
        [Say("done")],
    ]
    session, faux = run(repo, script, "go", "again")
    sent = len(notes(session))
    note = "".join(notes(session))  # the two calls run side by side, and the outer folder may come alone
    assert note.count("Rules of a.") == note.count("Rules of b.") == 1
    assert note.index("of a.") < note.index("of b.")
    assert 'trusted="no"' in note and "Root" not in note
    requests = faux.requests
    assert len({request.system for request in requests}) == 1
    for earlier, later in pairwise(requests):
        assert later.messages[: len(earlier.messages)] == earlier.messages
    rows = dict(file_rows(session))
    assert [Path(path).parent.name for path in rows] == ["repo", "a", "b"]
    assert all("bytes, about" in size for size in rows.values())
    path = session.log.path
    again, _ = run(repo, [[Use("read", path="a/x.txt")], [Say("done")]], "go", resume=str(path))
    assert len(notes(again)) == sent


def test_report_on_the_context_has_sizes_and_cuts(repo: Path) -> None:
    (repo / "GEMINI.md").write_text("Hi")
    (repo / "CLAUDE.md").write_text("Long line of words.\n" * 5_000)
    session, _ = run(repo, [[Say("ok")]], "go", save=False)
    sizes = {Path(path).name: size for path, size in file_rows(session)}
    assert sizes["GEMINI.md"] == "2 bytes, about 1 token"
    assert sizes["CLAUDE.md"].startswith("cut: 64 KiB of 97.6 KiB, about ")


def test_nested_instructions_respect_the_setting(repo: Path) -> None:
    (repo / "a").mkdir()
    (repo / "a/AGENTS.md").write_text("Rules of a.")
    script = [[Use("read", path="a/AGENTS.md")], [Say("done")]]
    session, _ = run(repo, script, "go", save=False, settings={"contextFiles.enabled": False})
    assert notes(session) == []


def test_added_folder_brings_its_own_instructions(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "AGENTS.md").write_text("Rules of the other.")
    (other / "x.txt").write_text("text")
    script = [[Use("read", path=str(other / "x.txt"))], [Say("done")]]
    session, _ = run(repo, script, "go", save=False, add_dirs=(other,))
    assert "Rules of the other." in notes(session)[0]


def test_system_prompt_files_replace_and_add(repo: Path) -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    (home / "SYSTEM.md").write_text("Be a cat.")
    (home / "APPEND_SYSTEM.md").write_text("Purr.")
    session, _ = run(repo, [[Say("ok")]], save=False)
    assert session.setup().system.startswith("Be a cat.") and session.setup().system.endswith("Purr.")
    flags = {"system_prompt": "Be a dog.", "append_system_prompt": "Bark."}
    session, _ = run(repo, [[Say("ok")]], save=False, **flags)
    assert session.setup().system == "Be a dog.\n\nPurr.\n\nBark."


def test_system_prompt_of_a_project_waits_for_trust(repo: Path) -> None:
    (repo / ".claude").mkdir()
    (repo / ".claude/SYSTEM.md").write_text("Be evil.")
    session, _ = run(repo, [[Say("ok")]], save=False)
    assert "Be evil." not in session.setup().system
    assert any("SYSTEM.md" in notice.message and "trust" in notice.message for notice in session.notices)
    TrustStore(user_paths()).trust(repo)
    session, _ = run(repo, [[Say("ok")]], save=False)
    assert session.setup().system.startswith("Be evil.")


def test_many_skills_of_one_name_are_reported_in_a_few_lines(repo: Path) -> None:
    home = Path(os.environ["HOME"])
    folders = (
        ".claude",
        ".codex",
        ".agents",
        ".agent",
        ".gemini",
        ".pi/agent",
        ".omp/agent",
        ".config/opencode",
    )
    for number, folder in enumerate(folders):
        put_skill(home / folder / "skills/same", f"version {number}")
    session, _ = run(repo, [[Say("ok")]], save=False)
    said = [notice.message for notice in session.notices]
    assert sum("Skipped the skill" in text for text in said) == 5
    assert "2 more skills are skipped; see tau extensions list --all." in said


def test_without_rules_none_is_in_the_prompt(repo: Path) -> None:
    (repo / ".tau/rules").mkdir(parents=True)
    (repo / ".tau/RULES.md").write_text("Be brief.")
    (repo / ".tau/rules/always.md").write_text("---\nalwaysApply: true\n---\nBe terse.\n")
    (repo / ".tau/rules/listed.md").write_text("---\ndescription: d\n---\nBe kind.\n")
    for on in (True, False):
        session, _ = run(repo, [[Say("ok")]], save=False, settings={"rules.enabled": on})
        system = session.setup().system
        assert [text in system for text in ("Be brief.", "Be terse.", "- listed: d")] == [on] * 3


def test_title_prompt_comes_from_a_file(repo: Path) -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    (home / "TITLE_SYSTEM.md").write_text("Title in Latin.")
    session, _ = run(repo, [[Say("ok")]], save=False)
    assert session.names.instructions == "Title in Latin."


def test_shortened_descriptions_are_named_in_one_notice(repo: Path) -> None:
    for number in range(30):
        put_skill(repo / f".tau/skills/s{number}", "words " * 100)
    session, _ = run(repo, [[Say("ok")]], save=False)
    (notice,) = [one.message for one in session.notices if "skills.listingTokens" in one.message]
    assert notice.startswith("The list of skills exceeds 2,000 tokens") and "s29" in notice
    assert FAUX_MODEL.context_window == 200_000
