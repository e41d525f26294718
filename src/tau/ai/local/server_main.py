"""The demo model's child process: llama.cpp's server on a loopback port, alive only as long as its parent.

The parent writes one `ServerLaunch` as JSON to stdin and reads lines from stdout: one `ServerReady`
when the server answers, anything else is for the log.
"""

import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, json

from tau.base.late import late

if TYPE_CHECKING:
    from xllamacpp import CommonParams

ctypes = late("ctypes")
xllamacpp = late("xllamacpp")

TEMPLATE = Path(__file__).with_name("demo_template.jinja")

_PR_SET_PDEATHSIG = 1
_WARNINGS = 2
_POLL_MS = 500


class ServerLaunch(Struct, frozen=True, kw_only=True):
    """Parameters from the parent. The key comes this way to stay out of process lists and environments."""

    weights: str
    key: str
    model_id: str
    context_tokens: int


class ServerReady(Struct, frozen=True, forbid_unknown_fields=True):
    port: int


def end_with_parent(parent: int, output: int) -> None:
    """Exit when `parent` is gone: our parent changed, or `output` has no reader.

    Polling a pipe's write end detects its last reader on Linux; checking the parent works everywhere.
    """
    poll = select.poll()
    poll.register(output, select.POLLERR | select.POLLHUP)
    while os.getppid() == parent:
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(_POLL_MS)):
            break
    os._exit(0)


def request_death_signal() -> None:
    """On Linux, have the kernel end us with our parent, even while the weights load and no Python runs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def cores() -> int:
    """The cores we may use, if the system reports them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parameters(launch: ServerLaunch, threads: int) -> "CommonParams":
    """llama.cpp's settings: one slot, on loopback, closed to browsers, deterministic answers."""
    settings = xllamacpp.CommonParams()
    settings.model.path = launch.weights
    settings.model_alias = {launch.model_id}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.api_keys = [launch.key]
    settings.cors_origins = ""
    settings.cors_credentials = False
    settings.ui = False
    settings.n_ctx = launch.context_tokens
    settings.n_parallel = 1
    settings.n_gpu_layers = 0
    settings.fit_params = False
    settings.cache_ram_mib = 0
    settings.cache_idle_slots = False
    settings.cpuparams.n_threads = threads
    settings.cpuparams_batch.n_threads = threads
    settings.chat_template = TEMPLATE.read_text(encoding="utf-8")
    # At a normal temperature a model this small rambles; DRY prevents repeated sentences.
    settings.sampling.temp = 0.0
    settings.sampling.dry_multiplier = 0.8
    settings.verbosity = _WARNINGS
    return settings


def main() -> None:
    parent = os.getppid()
    request_death_signal()
    watch = threading.Thread(target=end_with_parent, args=(parent, sys.stdout.fileno()), daemon=True)
    watch.start()
    launch = json.decode(sys.stdin.buffer.read(), type=ServerLaunch)
    server = xllamacpp.Server(parameters(launch, max(1, cores() - 1)))
    port = int(server.listening_address.rpartition(":")[2])
    try:
        os.write(sys.stdout.fileno(), b"\n" + json.encode(ServerReady(port)) + b"\n")
    except BrokenPipeError:  # our parent ended while we were loading
        os._exit(1)
    watch.join()


if __name__ == "__main__":
    main()
