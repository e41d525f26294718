"""A debug adapter for tests. Its first argument is a script in JSON: what to do on each command.

`{"launch": {"body": ..., "fail": TEXT, "raw": TEXT, "exit": CODE, "hang": true, "events": [[name, body]],
"ask": [[command, arguments], ...]}}`, and `capabilities`. With a port or the path of a socket as the
second argument, it listens there, for any number of clients.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

SCRIPT: dict[str, Any] = json.loads(sys.argv[1])
CAPABILITIES = dict.fromkeys(
    (
        *(
            "supportsConfigurationDoneRequest",
            "supportsFunctionBreakpoints",
            "supportsConditionalBreakpoints",
        ),
        *("supportsHitConditionalBreakpoints", "supportsLogPoints", "supportsInstructionBreakpoints"),
        *("supportsDataBreakpoints", "supportsDisassembleRequest", "supportsReadMemoryRequest"),
        *("supportsWriteMemoryRequest", "supportsModulesRequest", "supportsLoadedSourcesRequest"),
        *("supportsTerminateRequest", "supportTerminateDebuggee", "supportsExceptionInfoRequest"),
    ),
    True,
)
FILTERS = [
    {"filter": "raised", "label": "Raised"},
    {"filter": "uncaught", "label": "Uncaught", "default": True},
]
FRAME = {"id": 1, "name": "main", "line": 2, "column": 1, "instructionPointerReference": "0x10"}
BODIES: dict[str, Any] = {
    "initialize": {"exceptionBreakpointFilters": FILTERS, **CAPABILITIES, **SCRIPT.get("capabilities", {})},
    "threads": {"threads": [{"id": 1, "name": "main"}]},
    "scopes": {
        "scopes": [{"name": "Locals", "variablesReference": 5}, {"name": "Globals", "variablesReference": 6}]
    },
    "variables": {"variables": [{"name": "n", "value": "3", "type": "int", "variablesReference": 0}]},
    "evaluate": {"result": "42", "type": "int", "variablesReference": 7},
    "dataBreakpointInfo": {"dataId": "n@1", "description": "n", "accessTypes": ["write"]},
    "disassemble": {"instructions": [{"address": "0x10", "instruction": "nop"}]},
    "readMemory": {"address": "0x10", "data": "AAEC", "unreadableBytes": 1},
    "writeMemory": {"bytesWritten": 3},
    "modules": {"modules": [{"id": 1, "name": "app", "path": "/app"}]},
    "loadedSources": {"sources": [{"name": "main.x", "path": "/app/main.x"}]},
    "exceptionInfo": {"exceptionId": "Boom", "description": "it broke"},
}


class Client:
    def __init__(self, reading: BinaryIO, writing: BinaryIO) -> None:
        self.reading, self.writing = reading, writing
        self.seq = 0
        self.program: str = ""
        self.stops = True

    def send(self, **message: Any) -> None:
        self.seq += 1
        body = json.dumps({"seq": self.seq, **message}).encode()
        self.writing.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.writing.flush()

    def event(self, name: str, body: Any = None) -> None:
        self.send(type="event", event=name, body=body or {})

    def read(self) -> dict[str, Any] | None:
        size = 0
        while line := self.reading.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        message: dict[str, Any] | None = json.loads(self.reading.read(size)) if size else None
        return message

    def serve(self) -> None:
        while (message := self.read()) is not None:
            if message["type"] == "request":
                self.answer(message)
            elif "saveAnswers" in SCRIPT:
                with Path(SCRIPT["saveAnswers"]).open("a") as file:
                    file.write(json.dumps(message) + "\n")

    def answer(self, request: dict[str, Any]) -> None:
        command, arguments = request["command"], request.get("arguments") or {}
        act = SCRIPT.get(command, {})
        if "save" in SCRIPT:
            with Path(SCRIPT["save"]).open("a") as file:
                file.write(json.dumps([command, arguments]) + "\n")
        if "raw" in act:
            self.writing.write(act["raw"].encode())
            self.writing.flush()
        if "stderr" in act:
            sys.stderr.write(act["stderr"])
            sys.stderr.flush()
        if "exit" in act:
            os._exit(act["exit"])
        if act.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        if act.get("hang"):
            return
        for name, body in act.get("before", ()):
            self.event(name, body)
        self.respond(request, act, self.body_of(command, arguments))
        for name, body in act.get("events", ()):
            self.event(name, body)
        for _ in range(act.get("flood", 0)):
            self.event("output", {"category": "stdout", "output": "x" * 1_000_000 + "\n"})
        if "flood" in act:
            self.event("output", {"category": "stderr", "output": "the end\n"})
        for asked, given in act.get("ask", ()) if "child" not in arguments else ():
            self.send(type="request", command=asked, arguments=given)
        self.after(command, act)

    def respond(self, request: dict[str, Any], act: dict[str, Any], body: Any) -> None:
        answer = {"type": "response", "request_seq": request["seq"], "command": request["command"]}
        if "fail" in act:
            self.send(**answer, success=False, message=act["fail"])
        else:
            self.send(**answer, success=True, body=act.get("body", body))

    def body_of(self, command: str, arguments: dict[str, Any]) -> Any:
        if command in ("launch", "attach"):
            self.program = arguments.get("program", "")
            self.stops = bool(arguments.get("stopOnEntry"))
        if command == "stackTrace":
            source = {"path": self.program} if self.program else None
            return {"stackFrames": [{**FRAME, "source": source}, {"id": 2, "name": "start", "line": 1}]}
        if command.startswith("set") and command.endswith("Breakpoints"):
            rows = arguments.get("breakpoints", [])
            return {"breakpoints": [{"id": at, "verified": True} for at, _ in enumerate(rows)]}
        return BODIES.get(command)

    def after(self, command: str, act: dict[str, Any]) -> None:
        if "events" in act or "fail" in act:
            return
        match command:
            case "launch" | "attach":
                self.event("initialized")
            case "configurationDone":
                reason = "entry" if self.stops else "breakpoint"
                self.event("stopped", {"reason": reason, "threadId": 1, "allThreadsStopped": True})
            case "continue":
                self.event("output", {"category": "stdout", "output": "three\n"})
                self.event("exited", {"exitCode": 0})
                self.event("terminated")
            case "next" | "stepIn" | "stepOut" | "pause":
                self.event("stopped", {"reason": "step", "threadId": 1})
            case "disconnect":
                os._exit(0) if len(sys.argv) < 3 else None


def listen(address: str) -> None:
    if address.startswith("/"):
        server = socket.socket(socket.AF_UNIX)
        server.bind(address)
        server.listen()
    else:
        server = socket.create_server(("127.0.0.1", int(address)))
    while True:
        link, _ = server.accept()
        client = Client(link.makefile("rb"), link.makefile("wb"))
        threading.Thread(target=client.serve, daemon=True).start()


if "ignoreTerm" in SCRIPT:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) > 2:
    listen(sys.argv[2])
Client(sys.stdin.buffer, sys.stdout.buffer).serve()
while "ignoreTerm" in SCRIPT:
    time.sleep(1)
