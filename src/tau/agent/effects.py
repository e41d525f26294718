"""What a tool call would do, declared without doing it."""

from pathlib import Path

from msgspec import Struct


class Effects(Struct, frozen=True, kw_only=True):
    """Paths are absolute; `runs` holds the shell text or the program; `network` the hosts, `*` for any.

    A folder in `reads` covers what is below it; `writes` names each file. `env` are variables that the call
    sets for what it runs, `run_cwd` where that runs if not in the session's folder, `details` what else a
    question must show, as pairs of a name and a value. If it `acts_elsewhere`, another program does the work,
    so that nothing can be declared or bound here. `mcp` is the server and the tool that act, `*` for
    any server, and `mcp_change` how the tool's definition differs from the one that was in use.
    `publishes` says what it changes for others on a server, as in "push main to origin".
    `undeclared`: its author has not said what it does.
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    runs: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    run_cwd: Path | None = None
    details: tuple[tuple[str, str], ...] = ()
    publishes: tuple[str, ...] = ()
    acts_elsewhere: bool = False
    undeclared: bool = False
    mcp: tuple[str, str] | None = None
    mcp_change: str = ""
