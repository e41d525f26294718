"""The checkers of a whole project, by the languages found in it."""

from pathlib import Path

from msgspec import Struct

from tau.base.programs import find_program
from tau.base.run import Limits, capture
from tau.base.text import plain
from tau.coding.ports import CodingContext

MAX_LINES = 50
CHECKS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("Rust", ("Cargo.toml",), ("cargo check --message-format=short",)),
    ("TypeScript", ("tsconfig.json",), ("tsc --noEmit",)),
    ("Go", ("go.mod",), ("go build ./...",)),
    (
        "Python",
        ("pyproject.toml", "setup.py", "pyrightconfig.json", "requirements.txt"),
        ("pyright", "basedpyright", "ty check", "ruff check"),
    ),
)


class ProjectCheck(Struct, frozen=True):
    language: str
    command: str


def project_checks(cwd: Path, *, trusted: bool) -> list[ProjectCheck]:
    """One per language with a marker in the folder and a checker on the PATH, or in a trusted project."""
    found = []
    for language, markers, commands in CHECKS:
        if not any((cwd / marker).exists() for marker in markers):
            continue
        for command in commands:
            program = command.split()[0]
            if trusted and (cwd / "node_modules/.bin" / program).exists():
                found.append(ProjectCheck(language, f"node_modules/.bin/{command}"))
            elif (path := find_program(program)) is not None:
                found.append(ProjectCheck(language, f"{path}{command[len(program) :]}"))
            else:
                continue
            break
    return found


async def run_check(check: ProjectCheck, ctx: CodingContext, timeout_s: float) -> str:
    limits = Limits(timeout=timeout_s)
    ctx.approved.run(check.command)
    async with await ctx.run.start(check.command, cwd=ctx.cwd, limits=limits) as process:
        done = await capture(process)
    lines = plain(done.output.decode("utf-8", "replace")).strip().splitlines()
    rest = f"\n[{len(lines) - MAX_LINES} more lines]" if len(lines) > MAX_LINES else ""
    if done.exit.timed_out:
        rest += f"\n[stopped after {timeout_s:g} s]"
    end = "OK" if done.exit.code == 0 and not lines else "\n".join(lines[:MAX_LINES])
    end = end or f"exit code {done.exit.code}"
    return f"Workspace diagnostics ({check.language}: {check.command}):\n{end}{rest}"
