"""Measures the backends: shell, jobs, kernels, ssh: `bench/processes.py [--quick]`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import parts
import processes_jobs
import processes_kernels
import processes_shell
import processes_ssh

if __name__ == "__main__":
    parts.show(
        "Measure commands, background jobs, cells and remote commands.",
        (processes_shell, processes_jobs, processes_kernels, processes_ssh),
    )
