"""`tau usage`: what the last answers said about limits."""

import json

from msgspec.structs import replace

from tests.e2e.program import Program
from tests.support.fake_answers import Status

HEADERS = {
    "x-ratelimit-limit-requests": "100",
    "x-ratelimit-remaining-requests": "10",
    "x-ratelimit-reset-requests": "2h",
}


def test_usage_shows_limits_their_reset_and_their_age(tau: Program) -> None:
    assert "No provider has reported limits yet" in tau.run("usage").stdout
    tau.write("auth.json", {"fake": {"type": "api_key", "key": "sk-planted-0123456789abcdef"}})
    (tau.home / "auth.json").chmod(0o600)
    tau.server.script(replace(Status(400), headers=HEADERS))
    assert tau.ask("hi").returncode != 0
    shown = tau.run("usage").stdout
    assert "fake …cdef, " in shown and " ago\n" in shown
    assert "requests: 90% used, resets in 1 h 59 min" in shown
    assert "planted" not in shown
    (row,) = json.loads(tau.run("usage", "-j", "-p", "fake").stdout)
    assert row["limits"][0]["usedPercent"] == 90
    assert json.loads(tau.run("usage", "-j", "-p", "nobody").stdout) == []
    assert "…cdef" not in tau.run("usage", "-r").stdout
    assert tau.run("usage", "--x").returncode == 2
