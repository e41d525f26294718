"""RPC mode with random and damaged lines: each is answered, nothing crashes or hangs."""

import json
import random
import subprocess
from typing import Any

import msgspec

from tau.modes.session_commands.table import COMMANDS
from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S
from tests.support.random_lines import VALUES, encoded_line
from tests.support.soak import is_soaking

OTHERS = ("extension_ui_response", "host_tool_result", "host_tool_update", "host_uri_result", "nonsense")
# Those that run what they are given, or write where they say.
UNSAFE = frozenset({"bash", "export_html"})
FIELDS = (
    *("message", "images", "attachments", "streamingBehavior", "mode", "level", "enabled", "phases", "name"),
    *("entryId", "sessionPath", "provider", "modelId", "cursor", "limit", "since", "tools", "schemes"),
)


def random_line(rng: random.Random) -> bytes:
    names = (*(name for name in COMMANDS if name not in UNSAFE), *OTHERS)
    message: dict[str, Any] = {"type": rng.choice(names)}
    if rng.random() < 0.8:
        message["id"] = rng.choice((1, "one", "7", None, [], 1.5))
    for name in rng.sample(FIELDS, rng.randint(0, 4)):
        message[name] = rng.choice(VALUES)
    if rng.random() < 0.1:
        message["type"] = rng.choice(VALUES)
    return encoded_line(message, rng)


def test_random_lines_are_answered_and_the_program_stays_alive(tau: Program) -> None:
    rng = random.Random(19)
    lines = b"".join(random_line(rng) for _ in range(10_000 if is_soaking() else 300))
    with subprocess.Popen(
        [*TAU, "--mode", "rpc", "--snapshots", "none", *FAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tau.project,
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(lines + b'{"id":"last","type":"get_commands"}\n')
        child.stdin.flush()
        answered = False
        for line in child.stdout:
            frame = json.loads(line)
            assert isinstance(frame["type"], str)
            if frame["type"] == "response":
                assert isinstance(frame["command"], str) and isinstance(frame["success"], bool)
                assert frame["success"] or isinstance(frame["error"], str)
                assert frame.get("code") != "internal", frame
                if frame["success"] and (response := COMMANDS[frame["command"]].response):
                    msgspec.json.decode(json.dumps(frame["data"]), type=response)
            if frame.get("id") == "last":
                answered = frame["success"]
                break
        child.stdin.close()
        assert child.wait(HANG_S) == 0
    assert answered
