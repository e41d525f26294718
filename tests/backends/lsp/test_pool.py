"""Servers start once, fail with a name, are not asked for stale answers, and leave nothing behind."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tau.backends.lsp.config import find_servers
from tau.backends.lsp.documents import MAX_OPEN
from tau.backends.lsp.pool import LanguageServers
from tau.backends.lsp.protocol import LspError
from tau.config.paths import Paths
from tests.backends.lsp.servers import fake_spec, pool_of
from tests.support.idle import until
from tests.support.limits import HANG_S


def texts(report: Any) -> list[str]:
    return [each.text for each in report.diagnostics]


async def failure_of(tmp_path: Path, **script: Any) -> str:
    """The error of a hover."""
    (tmp_path / "a.txt").write_text("x\n")
    async with pool_of(tmp_path, spec := fake_spec(**script)) as pool:
        with pytest.raises(LspError) as caught:
            server = await pool.server(spec)
            await server.sync(tmp_path / "a.txt")
            await server.request("textDocument/hover", {}, HANG_S)
    return str(caught.value)


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"exit": 3}, "fake exited with code 3; it printed: giving up"),
        (
            {"raw": "Content-Length: 99\r\n\r\n{", "exit": 0},
            "fake exited with code 0 in the middle of a message",
        ),
        ({"raw": "Content-Length: 10000000000\r\n\r\n"}, "announced a message of 9.3 GiB"),
        ({"raw": "Content-Length: 3\r\n\r\n{]}"}, "not JSON-RPC"),
        ({"raw": "hello world\n"}, "instead of a header"),
    ],
)
def test_a_broken_server_is_named(tmp_path: Path, act: dict[str, Any], problem: str) -> None:
    assert problem in asyncio.run(failure_of(tmp_path, **{"textDocument/hover": act}))
    if "exit" in act:
        assert "fake" in asyncio.run(failure_of(tmp_path, initialize=act))


def test_odd_servers_are_survived(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    acts: list[dict[str, Any]] = [{"times": 2}, {"stderr": 50_000_000}, {"ask": 2_000}]

    async def main() -> None:
        for act in acts:
            async with pool_of(
                tmp_path, spec := fake_spec(**{"textDocument/hover": {"result": 1, **act}})
            ) as pool:
                server = await pool.server(spec)
                assert await server.request("textDocument/hover", {}, HANG_S) == 1
                assert await server.request("textDocument/definition", {}, HANG_S) is None

    asyncio.run(main())


def test_no_answer_in_time_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("bad\n")

    async def main() -> None:
        async with pool_of(tmp_path, fake_spec(silent=True)) as pool:
            report = await pool.check(tmp_path / "a.txt", wait_s=0.05)
            assert report.silent == ("fake",)
        async with pool_of(tmp_path, fake_spec(initialize={"hang": True})) as pool:
            report = await pool.check(tmp_path / "a.txt", wait_s=0.05)
            assert report.silent == ("fake",)

    asyncio.run(main())


@pytest.mark.parametrize("script", [{}, {"unversioned": True}])
def test_diagnostics_are_about_the_file_on_disk(tmp_path: Path, script: dict[str, Any]) -> None:
    path = tmp_path / "a.txt"

    async def main() -> None:
        async with pool_of(tmp_path, fake_spec(**script)) as pool:
            for number in range(3):
                path.write_text(f"bad {number}\n" * number)
                report = await pool.check(path, wait_s=HANG_S)
                assert texts(report) == [f"bad thing: bad {number}"] * min(number, 1) * 1 or number == 2
                assert len(report.diagnostics) == number
            os.utime(path, ns=(1, 1))
            assert len((await pool.check(path, wait_s=HANG_S)).diagnostics) == 2

    asyncio.run(main())


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    async def main() -> None:
        async with pool_of(tmp_path, fake_spec()) as pool:
            path.write_text("bad\n")
            stat = path.stat()
            assert len((await pool.check(path, wait_s=HANG_S)).diagnostics) == 1
            for text, count in (("bed\n", 0), ("bad\n", 1)):
                path.write_text(text)
                os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
                assert len((await pool.check(path, wait_s=HANG_S)).diagnostics) == count

    asyncio.run(main())


def test_an_older_publish_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("fine\n")
    old = {"uri": path.as_uri(), "version": 0, "diagnostics": []}
    script = {"silent": True, "textDocument/didOpen": {"notify": [["textDocument/publishDiagnostics", old]]}}

    async def main() -> None:
        async with pool_of(tmp_path, fake_spec(**script)) as pool:
            assert (await pool.check(path, wait_s=0.1)).silent == ("fake",)

    asyncio.run(main())


def test_an_empty_answer_before_the_first_look_is_not_the_answer(tmp_path: Path) -> None:
    """As biome does: it publishes nothing, for the right version, until it has read its configuration."""
    path = tmp_path / "a.txt"
    path.write_text("bad\n")
    empty = {"uri": path.as_uri(), "version": 1, "diagnostics": []}
    row = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}}
    real = {**empty, "diagnostics": [{**row, "message": "bad"}]}
    publish = "textDocument/publishDiagnostics"
    script = {"silent": True, "textDocument/didOpen": {"notify": [[publish, empty], [publish, real, 0.05]]}}

    async def main() -> None:
        async with pool_of(tmp_path, fake_spec(**script)) as pool:
            assert len((await pool.check(path, wait_s=HANG_S)).diagnostics) == 1

    asyncio.run(main())


def test_100_000_diagnostics_are_capped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("bad\n" * 100_000)

    async def main() -> None:
        async with pool_of(tmp_path, fake_spec()) as pool:
            report = await pool.check(path, wait_s=HANG_S)
            assert 0 < len(report.diagnostics) <= 10_000

    asyncio.run(main())


@pytest.mark.parametrize(
    ("prints", "shown"),
    [
        ('[{"line": 2, "character": 5, "severity": "Error", "reason": "no", "rule_id": "r"}]', "error no"),
        ('[{"line": 1, "character": null, "severity": "Warning", "reason": "hm"}]', "warning hm"),
        ("Loading configuration\n[]", ""),
        ("crashed", "fake printed no list of problems (exit code 2)"),
        ("[5]", "fake printed no list of problems (exit code 2)"),
    ],
)
def test_a_linter_without_a_server_is_run_for_each_file(tmp_path: Path, prints: str, shown: str) -> None:
    program = tmp_path / "linter"
    program.write_text(f"#!/bin/sh\necho '{prints}'\nexit 2\n")
    program.chmod(0o755)
    (tmp_path / "a.txt").write_text("x\n")

    async def main() -> None:
        spec = replace(fake_spec(), program=str(program), args=(), is_linter=True, prints_json=True)
        async with pool_of(tmp_path, spec) as pool:
            pool.warm_up()
            report = await pool.check(tmp_path / "a.txt", wait_s=HANG_S)
            found = [f"{each.level} {each.text}" for each in report.diagnostics]
            assert [*found, *report.failed] == ([shown] if shown else [])
            with pytest.raises(LspError, match="is not a server"):
                await pool.server(spec)

    asyncio.run(main())


def test_simultaneous_calls_share_one_start(tmp_path: Path) -> None:
    async def main() -> None:
        async with pool_of(tmp_path, spec := fake_spec()) as pool:
            servers = await asyncio.gather(*(pool.server(spec) for _ in range(5)))
            assert len({server.pid for server in servers}) == 1

    asyncio.run(main())


def test_a_crash_is_followed_by_a_restart_but_not_for_ever(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")

    async def main(pool: LanguageServers) -> int:
        for count in range(10):
            try:
                await pool.server(spec)
            except LspError as error:
                assert "not started again" in str(error)
                return count
        return 10

    async def run() -> int:
        async with pool_of(tmp_path, spec) as pool:
            return await main(pool)

    spec = fake_spec(initialize={"exit": 1})

    async def failing() -> int:
        async with pool_of(tmp_path, spec) as pool:
            seen = 0
            while True:
                try:
                    await pool.server(spec)
                except LspError as error:
                    if "not started again" in str(error):
                        return seen
                    seen += 1

    assert asyncio.run(failing()) == 4


def test_a_server_that_ignores_the_end_is_killed(tmp_path: Path) -> None:
    async def main() -> int:
        async with pool_of(tmp_path, spec := fake_spec(ignores_end=True)) as pool:
            return (await pool.server(spec)).pid

    pid = asyncio.run(main())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_oldest_files_are_closed(tmp_path: Path) -> None:
    async def main() -> None:
        async with pool_of(tmp_path, spec := fake_spec()) as pool:
            server = await pool.server(spec)
            for number in range(MAX_OPEN + 20):
                path = tmp_path / f"{number}.txt"
                path.write_text("x")
                await server.sync(path, look=False)
            assert len(server.documents) == MAX_OPEN
            assert tmp_path / "0.txt" not in server.documents

    asyncio.run(main())


def test_an_idle_server_ends_and_starts_again_when_needed(tmp_path: Path) -> None:
    idle, used = fake_spec(), replace(fake_spec(), name="used")

    async def main() -> None:
        async with pool_of(tmp_path, idle, used, idle_s=0.05) as pool:
            first = await pool.server(idle)
            (await pool.server(used)).used_at += HANG_S
            await until(lambda: first.gone.done(), HANG_S, lambda: "it still runs")
            with pytest.raises(ProcessLookupError):
                os.kill(first.pid, 0)
            assert pool.running(idle) is None and pool.running(used) is not None
            assert (await pool.server(idle)).pid != first.pid

    asyncio.run(main())


def test_the_nearest_file_wins_field_by_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository, home, user = tmp_path / "repository", tmp_path / "home", tmp_path / "user"
    work = repository / "inner"
    (repository / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    paths = Paths(home)
    assert find_servers(repository, paths, os.environ, trusted=True).idle_s == 15 * 60
    names = ("lsp.json", ".lsp.json", "lsp.yaml", "lsp.yml", ".tau/lsp.json")
    places = [*(work / name for name in names), repository / "lsp.json", repository / ".tau/lsp.json"]
    places += [home / "lsp.json", home / "plugins/a/lsp.json", user / "lsp.json"]
    for number, place in enumerate(places):
        mine: dict[str, Any] = {"command": "sh", "fileTypes": [".my"], "args": [str(number)]}
        if place == places[-1]:
            mine["initOptions"] = {"far": True}
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"servers": {"mine": mine}, "idleTimeoutMs": number * 1000}))
    for number, place in enumerate(places):
        found = find_servers(work, paths, os.environ, trusted=True)
        [spec] = [each for each in found.usable if each.name == "mine"]
        assert (spec.args, found.idle_s) == ((str(number),), number)
        assert spec.init_options == {"far": True}  # fields that nearer files leave out
        place.unlink()
