"""Which skills are offered, and what their front matter means."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import FAUX_MODEL
from tau.coding.skills.listing import list_skills
from tau.coding.skills.urls import SkillUrls
from tau.config.discovery.capabilities import skill_faults
from tau.config.discovery.front_matter import parse_front_matter
from tests.coding.context import CallContext
from tests.coding.skills.skill_files import catalog, put_skill, supplies

HOME_SKILLS = (".tau/agent", ".pi/agent", ".claude", ".codex", ".agents")
PROJECT_SKILLS = (".tau", ".omp", ".claude", ".github")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository; it and the home folder have a skill for each place."""
    home = Path(os.environ["HOME"])
    (tmp_path / "repo/.git").mkdir(parents=True)
    for place in HOME_SKILLS:
        put_skill(home / place / "skills" / f"user-{place.split('/')[0][1:]}")
    for place in PROJECT_SKILLS:
        put_skill(tmp_path / "repo" / place / "skills" / f"project-{place[1:]}")
    return tmp_path / "repo"


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, []),
        ({"enable_tau_user": False}, ["user-tau"]),
        ({"enable_tau_project": False}, ["project-tau"]),
        ({"enable_pi_user": False, "enable_pi_project": False}, ["user-pi", "project-omp"]),
        ({"enable_claude_user": False}, ["user-claude"]),
        ({"enable_claude_project": False}, ["project-claude"]),
        ({"enable_codex_user": False}, ["user-codex"]),
        (
            {"ignored_skills": ["user-*", "project-github"]},
            [*(f"user-{n}" for n in ("tau", "pi", "claude", "codex", "agents")), "project-github"],
        ),
    ],
)
def test_settings_choose_which_sources_are_offered(
    repo: Path, settings: dict[str, Any], missing: list[str]
) -> None:
    every = {skill.name for skill in catalog(repo).skills}
    assert len(every) == len(HOME_SKILLS) + len(PROJECT_SKILLS)
    assert {skill.name for skill in catalog(repo, **settings).skills} == every - set(missing)


def test_skill_of_a_source_that_is_off_hides_no_other(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    put_skill(home / ".claude/skills/x", "One")
    put_skill(home / ".agents/skills/x", "Two")
    found = catalog(tmp_path, enable_claude_user=False)
    assert [skill.description for skill in found.skills] == ["Two"] and found.collisions() == []


def test_included_names_and_the_switch_decide(repo: Path) -> None:
    assert [skill.name for skill in catalog(repo, include_skills=["*-tau"]).skills] == [
        "user-tau",
        "project-tau",
    ]
    assert catalog(repo, enabled=False).skills == []
    assert not any(file.is_skill for file in supplies(repo, enable_skill_commands=False).commands())


def test_fields_decide_how_a_skill_is_used(tmp_path: Path) -> None:
    folder = Path(os.environ["HOME"]) / ".claude/skills"
    put_skill(folder / "plain", allowed_tools="Bash(git:*)")
    put_skill(folder / "hidden", hide="true")
    put_skill(folder / "by-user", disable_model_invocation="true")
    put_skill(folder / "always", alwaysApply="true")
    put_skill(folder / "globs", globs="*.ts,*.tsx")
    found = {skill.name: skill for skill in catalog(tmp_path).skills}
    assert {name for name, skill in found.items() if not skill.listed} == {"hidden", "by-user"}
    assert not found["by-user"].by_model and found["always"].always
    assert found["globs"].globs == ("*.ts", "*.tsx") and found["plain"].body() == "Do it."


def test_collision_is_reported_unless_the_skills_are_equal(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    put_skill(home / ".claude/skills/same")
    put_skill(home / ".agents/skills/same")
    put_skill(home / ".claude/skills/other", "One")
    put_skill(home / ".agents/skills/other", "Two")
    (sentence,) = catalog(tmp_path).collisions()
    assert ".agents/skills/other" in sentence and ".claude/skills/other" in sentence


def test_link_to_a_skill_under_another_name_does_not_collide(tmp_path: Path) -> None:
    folder = Path(os.environ["HOME"]) / ".claude/skills"
    (folder / "a").mkdir(parents=True)
    (folder / "a/SKILL.md").write_text("---\ndescription: d\n---\ntext")
    (folder / "b").symlink_to("a")
    found = catalog(tmp_path)
    assert [skill.name for skill in found.skills] == ["a"] and found.collisions() == []


def test_skill_that_is_always_applied_is_part_of_the_prompt(tmp_path: Path) -> None:
    put_skill(Path(os.environ["HOME"]) / ".claude/skills/always", body="Always do this.", alwaysApply="true")
    from_files = supplies(tmp_path)
    warnings: list[str] = []

    files = from_files.read_prompts(FAUX_MODEL, warnings.append)
    assert [file.text for file in files.context] == ["Always do this."]
    assert files.skills(FAUX_MODEL) == "" and warnings == []


def test_recent_use_is_remembered_and_damage_is_ignored(tmp_path: Path) -> None:
    put_skill(Path(os.environ["HOME"]) / ".claude/skills/x")
    found = catalog(tmp_path)
    found.record_use("x")
    assert list(found.used()) == ["x"]
    record = Path(os.environ["TAU_HOME"]) / "cache/skills_used.json"
    record.write_text("{")
    assert found.used() == {}
    found.record_use("x")  # says so in the log only


LIKE_PUBLIC_ONES: dict[str, tuple[str, str, dict[str, str]]] = {
    # name: the rest of the front matter, the body, other files; in the shapes that published skills have
    "spreadsheets": (
        "description: '"
        + "Create, edit and check spreadsheets (.xlsx, .csv): formulas, charts. " * 12
        + "'\n"
        "license: Proprietary. LICENSE.txt has complete terms\n",
        "# Sheets\n\n1. Run `python scripts/recalc.py FILE`.\n2. Read [formulas](references/formulas.md).\n",
        {"LICENSE.txt": "Terms.\n", "scripts/recalc.py": "print('ok')\n", "references/formulas.md": "=SUM\n"},
    ),
    "web-tests": (
        "description: >-\n  Drive a local web page in a browser:\n  click, type, take screenshots.\n"
        "license: Apache-2.0\nallowed-tools: Bash(python:*) Read\n",
        "Use `scripts/with_server.py --help` first.\n",
        {"scripts/with_server.py": "import sys\n", "examples/nested/deep/form.py": "click()\n"},
    ),
    "house-style": (
        "description: |\n  Colors and type of the company.\n  Use for slides and pages.\n"
        "metadata:\n  author: design\n  version: '1.2'\n",
        "Ink is #111.\n",
        {"assets/logo.svg": "<svg/>\n", "templates/page.html": "<main>\n"},
    ),
    "server-builder": (
        "description: 'Guide to write servers for agents: when the user asks to connect an API'\n"
        "compatibility: Needs Python 3.11 and network access\n",
        "## Phases\n\nRead reference/python.md, then evaluate with scripts/evaluation.py.\n",
        {"reference/python.md": "FastAPI.\n", "scripts/requirements.txt": "httpx\n"},
    ),
    "commit-helper": (
        "description: Write commit messages. Use when: the user commits\n"
        "allowed-tools:\n  - Bash(git diff:*)\n  - Read\ndisable-model-invocation: true\n",
        "Look at $ARGUMENTS.\n",
        {},
    ),
}


def test_skills_in_the_shape_of_public_ones_are_offered_with_their_files(ctx: CallContext) -> None:
    folder = Path(os.environ["HOME"]) / ".claude/skills"
    for name, (head, body, files) in LIKE_PUBLIC_ONES.items():
        for inner, text in {"SKILL.md": f"---\nname: {name}\n{head}---\n{body}", **files}.items():
            (folder / name / inner).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / inner).write_text(text)
    found = catalog(ctx.cwd)
    assert sorted(skill.name for skill in found.skills) == sorted(LIKE_PUBLIC_ONES)
    listing = list_skills(found.skills, 10_000, {}).text
    for words in ("formulas, charts.", "Drive a local web page in a browser: click, type", "connect an API"):
        assert words in listing
    assert "Colors and type of the company. Use for slides" in listing
    assert "commit-helper" not in listing and "Bash(" not in listing
    items = {item.name: item for item in supplies(ctx.cwd).discovery.all("skills")}
    assert {item.state for item in items.values()} == {"active"}
    notes = {name: item.notes for name, item in items.items() if item.notes}
    assert list(notes) == ["commit-helper"] and "line by line" in notes["commit-helper"][0]
    ctx.urls.register(SkillUrls(found))
    for name, (_, body, files) in LIKE_PUBLIC_ONES.items():
        if name != "commit-helper":
            inner = {"": body, **{f"/{path}": text for path, text in files.items()}}
            for path, text in inner.items():
                read = asyncio.run(ctx.urls.resolve(f"skill://{name}{path}", ctx)).data.decode()
                assert read.endswith(text)


SKILLS: list[tuple[str, str]] = [
    *((f"ok-{n}", f"---\nname: ok-{n}\ndescription: {d}\n---\nBody\n") for n, d in enumerate(
        ("Plain", "'Quoted: text'", "Ünïcode", "x" * 1024, ">\n  folded\n  text")
    )),
    ("licensed", "---\nname: licensed\ndescription: d\nlicense: MIT\n---\nx"),
    ("compatible", "---\nname: compatible\ndescription: d\ncompatibility: Needs git\n---\nx"),
    ("compatible-long", f"---\nname: compatible-long\ndescription: d\ncompatibility: {'x' * 501}\n---\nx"),
    ("compatible-500", f"---\nname: compatible-500\ndescription: d\ncompatibility: {'x' * 500}\n---\nx"),
    ("meta", "---\nname: meta\ndescription: d\nmetadata:\n  author: me\n  version: 1.0\n---\nx"),
    ("tools", "---\nname: tools\ndescription: d\nallowed-tools: Bash Read\n---\nx"),
    ("extra", "---\nname: extra\ndescription: d\nversion: 1\n---\nx"),
    ("extra-two", "---\nname: extra-two\ndescription: d\nauthor: a\ntags: b\n---\nx"),
    ("no-name", "---\ndescription: d\n---\nx"),
    ("no-description", "---\nname: no-description\n---\nx"),
    ("empty-name", "---\nname: ''\ndescription: d\n---\nx"),
    ("empty-description", "---\nname: empty-description\ndescription: ''\n---\nx"),
    ("blank-description", "---\nname: blank-description\ndescription: '  '\n---\nx"),
    ("long", f"---\nname: long\ndescription: {'x' * 1025}\n---\nx"),
    ("no-front-matter", "Just text"),
    ("unclosed", "---\nname: unclosed\ndescription: d\n"),
    *((name, f"---\nname: {name}\ndescription: d\n---\nx") for name in (
        "Upper", "camelCase", "under_score", "two--hyphens", "-first", "last-", "dot.ted", "with space", "a",
        "123", "9-lives", "größe", "技能", "x" * 64, "x" * 65, "plus+", "a-b-c", "slash:x",
    )),
    ("folder", "---\nname: another\ndescription: d\n---\nx"),
    ("body-less", "---\nname: body-less\ndescription: d\n---\n"),
]  # fmt: skip


def test_verdicts_agree_with_those_of_the_specification(tmp_path: Path) -> None:
    """The reference validator, `agentskills validate`, and ours accept and refuse the same skills."""
    assert len(SKILLS) >= 40
    program = "import sys\nfrom pathlib import Path\nfrom skills_ref import validate\n"
    program += "for name in sys.argv[1:]: print(int(not validate(Path(name))))"
    ours = {}
    for name, text in SKILLS:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "SKILL.md").write_text(text)
        ours[name] = _is_valid(text, folder)
    command = [sys.executable, "-c", program, *(str(tmp_path / name) for name, _ in SKILLS)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = dict(zip(ours, (line == "1" for line in run.stdout.split()), strict=True))
    assert ours == theirs and 10 < sum(theirs.values()) < 35


def _is_valid(text: str, folder: Path) -> bool:
    if text == "Just text":
        return not skill_faults({}, folder.name)
    try:
        matter = parse_front_matter(text, folder / "SKILL.md")
    except ValueError:
        return False
    except Exception:
        return False
    return not skill_faults(matter.fields, folder.name)
