"""A language server for tests. Its first argument is a script in JSON: what to do on each method.

`{"method": {"result": ..., "notify": [[method, params, PAUSE_S?]], "raw": TEXT, "exit": 0, "hang": true}}`.
It reports lines with the word "bad" as errors, and speaks UTF-16 unless the script says otherwise.
"""

import json
import os
import signal
import sys
import time
from typing import Any

SCRIPT: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
texts: dict[str, str] = {}


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def read() -> dict[str, Any] | None:
    size = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    message: dict[str, Any] | None = json.loads(sys.stdin.buffer.read(size)) if size else None
    return message


def bad_lines(text: str) -> list[dict[str, Any]]:
    found = []
    for number, line in enumerate(text.split("\n")):
        if (at := line.find("bad")) >= 0:
            span = {"start": {"line": number, "character": at}, "end": {"line": number, "character": at + 3}}
            found.append(
                {"range": span, "severity": 1, "message": f"bad thing: {line.strip()}", "source": "fake"}
            )
    return found


def publish(document: dict[str, Any]) -> None:
    if SCRIPT.get("silent"):
        return
    params = {"uri": document["uri"], "diagnostics": bad_lines(texts[document["uri"]])}
    if not SCRIPT.get("unversioned"):
        params["version"] = document["version"]
    send({"method": "textDocument/publishDiagnostics", "params": params})


def answer(message: dict[str, Any]) -> None:
    method, params = message["method"], message.get("params") or {}
    if method in ("textDocument/didOpen", "textDocument/didChange"):
        document = params["textDocument"]
        changes = params.get("contentChanges")
        texts[document["uri"]] = changes[0]["text"] if changes else document["text"]
        publish(document)
    act = SCRIPT.get(method, {})
    if act.get("hang"):
        time.sleep(1000)
    if "stderr" in act:
        sys.stderr.write("x" * act["stderr"] + "\n")
        sys.stderr.flush()
    if "raw" in act:
        sys.stdout.buffer.write(act["raw"].encode())
        sys.stdout.buffer.flush()
    for name, body, *pause_s in act.get("notify", ()):
        time.sleep(sum(pause_s))
        send({"method": name, "params": body})
    for number in range(act.get("ask", 0)):
        send({"id": f"q{number}", "method": "workspace/configuration", "params": {"items": [{}]}})
    if "exit" in act:
        sys.stderr.write("giving up\n")
        sys.stderr.flush()
        os._exit(act["exit"])
    if "id" not in message:
        return
    result = act.get("result")
    if method == "initialize" and result is None:
        result = {
            "capabilities": {
                "textDocumentSync": 1,
                "renameProvider": True,
                "hoverProvider": True,
                "referencesProvider": True,
                "codeActionProvider": True,
                **SCRIPT.get("capabilities", {}),
            }
        }
    for _ in range(act.get("times", 1)):
        send({"id": message["id"], "result": result})


def main() -> None:
    if SCRIPT.get("ignores_end"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while (message := read()) is not None:
        if "method" in message:
            if message["method"] == "exit" and not SCRIPT.get("ignores_end"):
                return
            answer(message)
    while SCRIPT.get("ignores_end"):
        time.sleep(1000)


main()
