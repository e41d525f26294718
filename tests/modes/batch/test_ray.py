"""Batches on a real Ray cluster: three nodes on this machine, one of which is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import TauError
from tau.base.version import VERSION
from tau.modes.batch import ray_worker
from tau.modes.batch.executor import Lease
from tau.modes.batch.ray_worker import NodeJob, run_attempt, unpack
from tau.modes.batch.run_folder import BatchResult
from tau.modes.batch.task import BatchTask
from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S

TOKEN = "a-token-of-the-tests-0123456789abcdef"
FAST_HEALTH = {
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "2",
}
# Starts the head and two nodes, says where, then kills the node of each line it reads.
CLUSTER = """
import json, sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=1, resources={name: 1}) for name in ("left", "right")]
print(json.dumps(cluster.address), flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes[int(line)], allow_graceful=False)
    print("gone", flush=True)
cluster.shutdown()
"""


class RayCluster:
    def __init__(self, process: "subprocess.Popen[str]", address: str, env: dict[str, str]) -> None:
        self.process = process
        self.address = address
        self.env = env

    def kill_node(self, number: int) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "gone\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    home = tmp_path_factory.mktemp("ray")
    auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    env = {**os.environ, **FAST_HEALTH, **auth, "HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout
        try:
            yield RayCluster(process, json.loads(process.stdout.readline()), auth)
            process.communicate(timeout=HANG_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def write(tau: Program, *rows: dict[str, Any]) -> str:
    (tau.project / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return "t.jsonl"


def results(tau: Program) -> dict[str, dict[str, Any]]:
    lines = (tau.project / "t-batch/results.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert len({one["id"] for one in found}) == len(found), "a result came twice"
    return {one["id"]: one for one in found}


@pytest.mark.timeout(180)
def test_tasks_spread_over_nodes_and_a_killed_node_loses_and_doubles_nothing(
    tau: Program, cluster: RayCluster
) -> None:
    words = ("--executor", "ray", "--address", cluster.address, "--forward-env", "TAU_HOME", *FAKE)
    node = {**cluster.env, "TAU_HOME": str(tau.home)}
    rows: list[dict[str, Any]] = [
        {
            "id": "labeled",
            "prompt": "p",
            "resources": {"labels": {"left": 1}},
            "files": {"out.txt": "made"},
            "collect": ["out.txt"],
        },
        {"id": "anywhere", "prompt": "p"},
        {"id": "bad", "prompt": "p", "repo": "/nowhere/at/all"},
    ]
    ran = tau.run("batch", write(tau, *rows), *words, **node)
    assert ran.returncode == 1, ran.stderr
    found = results(tau)
    assert found["labeled"]["status"] == found["anywhere"]["status"] == "done"
    assert "repo: there is no repository" in found["bad"]["error"]
    assert (tau.project / "t-batch/tasks/labeled/collected/out.txt").read_text() == "made"
    assert (tau.project / "t-batch" / found["labeled"]["session"]).is_file()

    (tau.project / "t-batch").rename(tau.project / "first")
    file = write(tau, *({"id": f"t{n}", "prompt": "p", "setup": "sleep 2"} for n in range(6)))
    with subprocess.Popen(
        [*TAU, "batch", file, "--json", *words],
        cwd=tau.project,
        env={**os.environ, **node},
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout
        begun = (line for line in running.stdout if '"activity":"setup"' in line)
        assert len([next(begun) for _ in range(3)]) == 3  # one on each node
        cluster.kill_node(1)
        running.stdout.read()
        assert running.wait(HANG_S) == 0
    journal = tau.project / "t-batch/journal.jsonl"
    assert "Its worker is gone" in journal.read_text()
    assert {key: one["status"] for key, one in results(tau).items()} == {f"t{n}": "done" for n in range(6)}


def test_wrong_address_and_flags_are_named(tau: Program) -> None:
    file = write(tau, {"id": "a", "prompt": "p"})
    ran = tau.run("batch", file, "--address", "127.0.0.1:1", *FAKE)
    assert ran.returncode == 2 and "--address needs --executor ray." in ran.stderr
    ran = tau.run("batch", file, "--executor", "ray", "--address", "127.0.0.1:1", *FAKE)
    assert ran.returncode == 1 and 'No Ray cluster answers at "127.0.0.1:1": ' in ran.stderr
    ran = tau.run("batch", file, "--executor", "ray", "--forward-env", "NOT_SET_HERE", *FAKE)
    assert ran.returncode == 2 and "--forward-env: NOT_SET_HERE is not set." in ran.stderr


def job(shared: str = "", version: str = VERSION, **task: Any) -> NodeJob:
    return NodeJob(
        version, "batch", Lease("k", BatchTask(id="k", prompt="p", **task), 1, 1), "none", [], shared=shared
    )


def test_node_with_another_version_or_without_git_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    other = run_attempt(job(version="9.9"), None).outcome
    assert isinstance(other, BatchResult) and other.status == "setup_failed"
    assert "and the batch was started with 9.9." in other.error
    monkeypatch.setenv("PATH", "/nowhere")
    bare = run_attempt(job(repo="/x"), None).outcome
    assert isinstance(bare, BatchResult) and "git is not installed on the node" in bare.error


def test_large_files_go_through_the_shared_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_worker, "MAX_INLINE_BYTES", 100)
    files, shared = tmp_path / "files", tmp_path / "shared"
    files.mkdir()
    shared.mkdir()
    (files / "big.bin").write_bytes(os.urandom(1000))
    with pytest.raises(TauError, match="give a folder that all nodes share with --shared-dir"):
        ray_worker._pack(files, job())
    name = ray_worker._pack(files, job(str(shared)))
    assert isinstance(name, str) and (shared / name).is_file()
    unpack(name, str(shared), tmp_path / "here")
    assert (tmp_path / "here/big.bin").read_bytes() == (files / "big.bin").read_bytes()
    assert not list(shared.iterdir())
