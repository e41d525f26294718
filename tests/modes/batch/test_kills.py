"""The coordinator is killed after any number of journal lines; nothing is lost, doubled or left behind."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.program import FAKE, Program
from tests.modes.batch.test_batch_program import WHO, repository, results, write
from tests.support.fake_answers import Call
from tests.support.forked import PREFIX
from tests.support.limits import HANG_S
from tests.support.soak import seeds

TASKS = 3
JOURNAL_LINES = TASKS * 4  # started, result, and twice its delivery
GH = """#!/bin/sh
case "$2" in
  list) if [ -e "$GH_STATE/$6" ]; then echo '[{"url": "https://x/1"}]'; else echo '[]'; fi ;;
  create)
    mkdir -p "$GH_STATE/$(dirname "$6")"; touch "$GH_STATE/$6"
    echo "$6" >> "$GH_STATE/created"; echo https://x/1 ;;
esac
"""


@pytest.mark.parametrize("seed", seeds(2, 200))
def test_killed_at_any_line_of_the_journal(tau: Program, tmp_path: Path, seed: int) -> None:
    repo = repository(tau.project / "repo")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(GH)
    (tmp_path / "bin/gh").chmod(0o755)
    (tmp_path / "state").mkdir()
    env = {**WHO, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "GH_STATE": str(tmp_path / "state")}
    tau.script(*[Call("bash", {"command": "echo $TAU_BATCH >> a.txt"}), "ok"] * (TASKS * 3))
    file = write(tau, *({"id": f"t{n}", "prompt": f"Change {n}", "repo": str(repo)} for n in range(TASKS)))
    words = (*PREFIX, "batch", file, *FAKE, "--jobs", "1", "--collect", "pr")
    running = tau.popen([*words], cwd=tau.project, stderr=subprocess.DEVNULL, env={**os.environ, **env})
    journal, lines = tau.project / "t-batch/journal.jsonl", 1 + (seed * 7) % JOURNAL_LINES
    end = time.monotonic() + HANG_S
    while running.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < lines):
        assert time.monotonic() < end
        time.sleep(0.001)
    running.send_signal(signal.SIGKILL)
    running.wait(HANG_S)
    before = results(tau) if (tau.project / "t-batch/results.jsonl").exists() else {}
    ran = tau.run(*words[len(PREFIX) :], **env)
    assert ran.returncode == 0, ran.stderr
    after = results(tau)
    assert sorted(after) == [f"t{n}" for n in range(TASKS)]
    assert {key: one for key, one in after.items() if key in before} == before
    changed = [key for key, one in after.items() if "patch" in one]
    created = (tmp_path / "state/created").read_text().split() if changed else []
    assert sorted(created) == sorted(f"tau/{key}" for key in changed), "a pull request came twice"
    assert not list((tau.project / "t-batch/work").iterdir()), "a worktree was left"
    state = [json.loads(line) for line in journal.read_text().splitlines()]
    assert sum(one["type"] == "result" for one in state) == TASKS
