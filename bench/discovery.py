"""Measures what a start costs when there is much to discover: `bench/discovery.py [--quick]`.

One prompt without anything to find, against the same with 200 skills, 50 rules, 10 hooks and a folder of each
provider: CPU time of both in turn, whether a second start reads no file again, and what a cold cache adds.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from fake import FakeServer
from report import milliseconds, times
from run import ask
from subjects import Subject, tau

from tau.config.discovery.providers import PROVIDERS, TAU, USER

SKILLS, RULES, HOOKS = 200, 50, 10
ROUNDS, QUICK_ROUNDS = 15, 3
TARGET = 1.25
BODY = "Read the file, change what the task asks for, and run the tests.\n" * 40


def write(path: Path, head: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{head}\n---\n{BODY}")


def fill(home: Path, settings: Path) -> None:
    """Skills, rules and hooks, spread over the folders of all providers, and instructions."""
    folders = [
        settings if root == TAU else home / root.removeprefix(USER)
        for provider in PROVIDERS
        for root in provider.roots
        if root == TAU or root.startswith(USER)
    ]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    skills = [folder for folder in folders if folder.name in ("agent", ".claude", ".agents", ".codex")]
    for number in range(SKILLS):
        name = f"skill-{number:03}"
        head = (
            f"name: {name}\ndescription: Use it for tasks about topic {number}.\nmetadata: {{version: 1.0}}"
        )
        write(skills[number % len(skills)] / "skills" / name / "SKILL.md", head)
    for number in range(RULES):
        head = f"description: rule {number}\nglobs: ['*.py', '*.ts']\ncondition: console\\.log{number}"
        write(folders[number % len(folders)] / "rules" / f"rule-{number}.md", head)
    guards = [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": f"guard-{number} --check"}]}
        for number in range(HOOKS)
    ]
    events = {"PreToolUse": guards[: HOOKS // 2], "PostToolUse": guards[HOOKS // 2 :]}
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": events}))
    for name in (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"):
        (home / name).write_text("Be brief.\n")


def cpu(subject: Subject, server: FakeServer) -> float:
    return ask(subject, server, scenario="hello")["cpu_ms"]


def measured(rounds: int, folder: Path) -> int:
    with FakeServer() as server:
        bare, full = (tau().settle(folder / name, server.url) for name in ("bare", "full"))
        for one in (bare, full):
            cpu(one, server)  # writes byte code and first files
        settings = Path(full.env.get("TAU_HOME", full.home / ".tau" / "agent"))
        fill(full.home, settings)
        cache = settings / "cache"
        samples: dict[str, list[float]] = {"bare": [], "full": [], "cold": []}
        for _ in range(rounds):
            shutil.rmtree(cache, ignore_errors=True)
            samples["cold"].append(cpu(full, server))
            before = (cache / "heads.json").stat().st_mtime_ns
            samples["bare"].append(cpu(bare, server))
            samples["full"].append(cpu(full, server))
            if (cache / "heads.json").stat().st_mtime_ns != before:
                raise SystemExit("A second start read files again.")
        server.script(scenario="hello")
        prompt = full.run(full.command)
        request = server.requests()[0]
        if prompt.code != 0 or request.get("sys_bytes", 0) < 20 * SKILLS:
            raise SystemExit("The skills are not in the request.")
    middle = {name: median(values) for name, values in samples.items()}
    spread = {name: f"{min(values):.0f} to {max(values):.0f}" for name, values in samples.items()}
    print(f"CPU time of one prompt, medians of {rounds} rounds, in turn\n")
    for name, title in (("bare", "nothing to find"), ("full", "everything"), ("cold", "... without a cache")):
        print(f"{title:20} {milliseconds(middle[name]):>10}  ({spread[name]} ms)")
    ratio = middle["full"] / middle["bare"]
    print(f"{'everything / nothing':20} {times(ratio):>10}  at most {times(TARGET)}")
    return 0 if ratio <= TARGET else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure discovery.")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    rounds = QUICK_ROUNDS if parser.parse_args().quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="tau-bench-") as name:
        return measured(rounds, Path(name).resolve())


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(main())
