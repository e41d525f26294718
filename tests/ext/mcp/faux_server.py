"""An MCP server on stdio whose faults are chosen by argument: `python faux_server.py '{"fault": "hang"}'`."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

OPTIONS: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
FAULT = OPTIONS.get("fault", "")
STATE = OPTIONS.get("state", "")  # a file that counts starts
ECHO = {
    "name": "echo",
    "description": "Say the text again",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


def send(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(id: Any, result: object) -> None:
    send({"jsonrpc": "2.0", "id": id, "result": result})


def starts() -> int:
    if not STATE:
        return 1
    with Path(STATE).open("a+") as file:
        file.write("x")
        file.flush()
        return file.tell()


def tools() -> list[dict[str, Any]]:
    listed = OPTIONS.get("tools", [ECHO])
    return listed if isinstance(listed, list) else [{**ECHO, "name": f"tool_{n}"} for n in range(listed)]


def serve(message: dict[str, Any], started: int) -> None:
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if path := OPTIONS.get("log"):
        with Path(path).open("a") as file:
            file.write(f"{method}\n")
    if method == "server/discover":
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown method"}})
    elif method == "initialize":
        if FAULT == "silent":
            return
        capabilities = {"tools": {"listChanged": True}, **OPTIONS.get("capabilities", {})}
        result = {
            "protocolVersion": OPTIONS.get("version", "2025-11-25"),
            "capabilities": capabilities,
            "serverInfo": {"name": "faux", "version": "1"},
            "instructions": OPTIONS.get("instructions", ""),
        }
        answer(id, result)
    elif method == "tools/list":
        if FAULT == "endless pages":
            cursor = str(int(params.get("cursor", "0")) + 1)
            answer(id, {"tools": [{**ECHO, "name": f"t{cursor}"}], "nextCursor": cursor})
            return
        answer(id, {"tools": tools()})
        if FAULT == "exits after listing" and started <= OPTIONS.get("times", 1):
            sys.exit(3)
    elif method == "tools/call":
        call(id, params)
    elif method == "ping":
        answer(id, {})
    elif method == "resources/subscribe":
        answer(id, {})
        for _ in range(3):
            changed = {"uri": params["uri"]}
            send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": changed})
        other = {"uri": "demo://not-read"}
        send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": other})
    elif id is not None and method:
        result = OPTIONS.get("answers", {}).get(method)
        if result is None:
            send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": f"no {method}"}})
        else:
            answer(id, result)


def call(id: Any, params: dict[str, Any]) -> None:  # noqa: C901
    text = (params.get("arguments") or {}).get("text", "")
    result = OPTIONS.get("result", {"content": [{"type": "text", "text": text}]})
    token = (params.get("_meta") or {}).get("progressToken")
    match FAULT:
        case "hang":
            return
        case "dies in call":
            if starts() <= 2:  # the first one was the start of the first process
                os._exit(9)
        case "invalid json":
            sys.stdout.write('{"jsonrpc": "2.0", "id": \n')
        case "noise":
            sys.stdout.write("Listening on port 1234\n\n\x1b[31mred\x1b[0m\n")
        case "wrong ids":
            answer(id + 1000, {"content": [{"type": "text", "text": "not yours"}]})
            answer("x", {})
            answer(None, {})
        case "huge":
            size = OPTIONS["size"]
            sys.stdout.write(f'{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"')
            for _ in range(size // 1_000_000):
                sys.stdout.write("x" * 1_000_000)
            sys.stdout.write('"}]}}\n')
            sys.stdout.flush()
            return
        case "flood":
            for number in range(20_000):
                send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": number}})
            for _ in range(2_000):
                sys.stderr.write("e" * 1000 + "\n")
        case "progress":
            for number in range(3):
                progress = {
                    "progressToken": token,
                    "progress": number + 1,
                    "total": 3,
                    "message": f"step {number}",
                }
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
                time.sleep(0.05)
        case "changes tools":
            OPTIONS["tools"] = [ECHO, {**ECHO, "name": "second"}]
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        case "environment":
            result = {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]}
    answer(id, result)
    if FAULT == "twice":
        answer(id, result)


def main() -> None:
    started = starts()
    if FAULT == "exits at once":
        sys.stderr.write("no such database\n")
        sys.exit(1)
    sys.stderr.write(f"faux server {os.getpid()}\n")
    for line in sys.stdin:
        message = json.loads(line)
        if FAULT == "stops reading" and message.get("method") == "tools/call":
            time.sleep(3600)
        serve(message, started)
    if FAULT == "ignores eof":
        time.sleep(3600)


if __name__ == "__main__":
    main()
