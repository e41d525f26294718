"""Measures the relay over XMPP against a bare echo bot, and live agents against a process per message.

    bench/relay.py [--messages N]

The agent is left out of the first comparison: the relay answers with a fixed text. It needs prosody and the
extra `xmpp`.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.relay.xmpp_server import XmppServer, XmppUser  # noqa: E402
from tests.support.fake_server import FakeServer  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
SETTLE_S = 3.0
ECHO = """
import asyncio, sys
from slixmpp import ClientXMPP
async def main():
    local = {"feature_mechanisms": {"unencrypted_scram": True}}
    bot = ClientXMPP("bot@localhost/echo", "bot-password", plugin_config=local)
    bot.enable_plaintext, bot.enable_direct_tls = True, False
    bot.register_plugin("xep_0030"); bot.register_plugin("xep_0198"); bot.register_plugin("xep_0199")
    bot.add_event_handler("session_start", lambda _: bot.send_presence())
    bot.add_event_handler("message", lambda m: m["type"] == "chat" and m.reply(m["body"]).send())
    bot.connect("127.0.0.1", int(sys.argv[1]))
    await asyncio.Event().wait()
asyncio.run(main())
"""


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


async def measure(
    server: XmppServer, command: list[str], env: dict[str, str], messages: int
) -> dict[str, float]:
    """CPU per message in milliseconds, milliseconds per round trip, and memory when idle."""
    process = subprocess.Popen(command, env=env)  # noqa: ASYNC220
    try:
        async with XmppUser(server) as ann:
            ann.say("warm up")
            await ann.wait(1)
            await asyncio.sleep(SETTLE_S)
            idle, before, started = memory_mib(process.pid), cpu_s(process.pid), time.monotonic()
            for number in range(messages):
                ann.say(f"message {number}")
                await ann.wait(number + 2)
            took = time.monotonic() - started
            used = cpu_s(process.pid) - before
            await asyncio.sleep(SETTLE_S)
            resting = cpu_s(process.pid) - before - used
    finally:
        process.terminate()
        process.wait(20)
    return {
        "cpuMs": 1000 * used / messages,
        "roundTripMs": 1000 * took / messages,
        "idleMib": idle,
        "idleCpuMs": 1000 * resting / SETTLE_S,
    }


async def channels(messages: int) -> dict[str, dict[str, float]]:
    found = {}
    for name in ("echo bot", "relay"):
        with tempfile.TemporaryDirectory() as folder:
            server, home = XmppServer(Path(folder) / "server"), Path(folder) / "home"
            home.mkdir()
            config = {
                "inbound": {
                    "allowFrom": ["xmpp:ann@localhost"],
                    "reply": {"agent": {"kind": "tau"}, "mode": "text", "text": "{{Body}}"},
                },
                "xmpp": {"jid": "bot@localhost", "password": "bot-password", "server": server.address},
            }
            (home / "relay.json").write_text(json.dumps(config))
            command = [sys.executable, "-m", "tau", "relay", "run"]
            if name == "echo bot":
                command = [sys.executable, "-c", ECHO, str(server.port)]
            env = {**os.environ, "TAU_RELAY_HOME": str(home)}
            async with server:
                found[name] = await measure(server, command, env, messages)
    return found


def agents(rounds: int) -> dict[str, dict[str, float]]:
    """tau on the console, alive and as a process per message, with a model server that answers at once."""
    found = {}
    for live in (True, False):
        with tempfile.TemporaryDirectory() as folder, FakeServer(lenient=True) as model:
            home = Path(folder)
            agent = {"kind": "tau", "live": live}
            provider = {"baseUrl": f"{model.url}/v1", "apiKey": "x", "api": "openai-completions"}
            models = {"providers": {"fake": {**provider, "models": [{"id": "fake-model"}]}}}
            (home / "agent").mkdir()
            (home / "agent" / "models.json").write_text(json.dumps(models))
            command = [sys.executable, "-m", "tau", "--model", "fake/fake-model"]
            reply = {"agent": agent, "command": command}
            config = {"inbound": {"allowFrom": ["console:you"], "reply": reply}}
            (home / "relay.json").write_text(json.dumps(config))
            env = {**os.environ, "TAU_RELAY_HOME": folder, "TAU_HOME": str(home / "agent")}
            relay = [sys.executable, "-m", "tau", "relay", "run", "--channel", "console"]
            pipe = subprocess.PIPE
            with subprocess.Popen(relay, env=env, stdin=pipe, stdout=pipe, text=True) as process:
                assert process.stdin is not None and process.stdout is not None
                times = []
                for number in range(rounds + 1):
                    started = time.monotonic()
                    process.stdin.write(f"message {number}\n")
                    process.stdin.flush()
                    process.stdout.readline()
                    times.append(time.monotonic() - started)
                process.stdin.close()
        name = "tau, alive" if live else "tau, a process per message"
        found[name] = {"firstMs": 1000 * times[0], "laterMs": 1000 * sorted(times[1:])[rounds // 2]}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200)
    options = parser.parse_args()
    found = asyncio.run(channels(options.messages)) | agents(10)
    for name, figures in found.items():
        print(f"{name:28}" + "".join(f"{key} {value:8.2f}   " for key, value in figures.items()))
    ours, echo = found["relay"], found["echo bot"]
    cpu, memory = ours["cpuMs"] / echo["cpuMs"], ours["idleMib"] / echo["idleMib"]
    print(f"relay / echo bot: CPU {cpu:.2f}, memory {memory:.2f}")
    alive, fresh = found["tau, alive"], found["tau, a process per message"]
    print(f"alive / process per message: {alive['laterMs'] / fresh['laterMs']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
