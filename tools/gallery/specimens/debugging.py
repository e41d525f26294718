"""Specimens of the debugger."""

from tau.backends.dap.protocol import DebugSummary, DebugVariable, SourceFile, StackFrame, StopPlace
from tau.coding.debug.call import DebugDetails
from tools.gallery.specimens.case import CWD, Result, in_all_states, one

ORDERS = SourceFile(path=str(CWD / "src/shop/orders.py"))
PLACE = StopPlace(
    reason="breakpoint",
    thread_id=1,
    frames=(
        StackFrame(9, "Order.close", 40, 1, ORDERS),
        StackFrame(10, "main", 12, 1, SourceFile(path=str(CWD / "src/shop/__main__.py"))),
        StackFrame(11, "<module>", 20, 1, SourceFile(path=str(CWD / "src/shop/__main__.py"))),
        StackFrame(12, "_run_code", 88, 1, SourceFile(path="/usr/lib/python3.11/runpy.py")),
    ),
    scope="Locals",
    scope_id=3,
    variables=(
        DebugVariable("self", "<shop.orders.Order object at 0x7f31c0>", "Order", 5),
        DebugVariable("amount", "Decimal('-4.28')", "Decimal", 6),
        *(DebugVariable(f"item_{number}", str(number), "int") for number in range(1, 7)),
    ),
    more_variables=3,
)
SOURCE = [
    (38, ""),
    (39, "    def close(self) -> Decimal:"),
    (40, "        amount = total(self.items, self.discount)"),
    (41, '        self.log.info("closed with %s", amount)'),
    (42, "        return amount"),
]


def summary(place: StopPlace | None, status: str = "stopped") -> DebugSummary:
    ended = status == "terminated"
    return DebugSummary(
        id="1",
        adapter="debugpy",
        cwd=str(CWD),
        program=str(CWD / "src/shop/__main__.py"),
        status="terminated" if ended else "stopped",
        launched_at=0.0,
        last_used_at=0.0,
        stop=place,
        exit_code=1 if ended else None,
    )


STOPPED = DebugDetails(
    action="continue", snapshot=summary(PLACE), source=SOURCE, state="stopped", timed_out=False
)
FAULT = StopPlace(
    reason="exception",
    exception="ZeroDivisionError: division by zero",
    thread_id=1,
    frames=PLACE.frames[:1],
)
AT_FAULT = DebugDetails(action="continue", snapshot=summary(FAULT), source=SOURCE, state="stopped")
ENDED = DebugDetails(action="continue", snapshot=summary(None, "terminated"), state="terminated")
NOT_THERE = "No active debug session. Launch or attach first."

SPECIMENS = [
    *in_all_states(
        "debug",
        {"action": "launch", "program": "src/shop/__main__.py", "file": "src/shop/orders.py", "line": 40},
        streaming={"action": "launch"},
        done=Result("Launched with debugpy.\nStopped: breakpoint", STOPPED),
        failed=Result("debugpy exited with code 1; it printed: No module named 'debugpy'"),
    ),
    one(
        *("debug", "exception", "An exception stopped the program.", "done", {"action": "continue"}),
        Result("Stopped: exception", AT_FAULT),
    ),
    one(
        *("debug", "ended", "The program ended.", "done", {"action": "continue"}),
        Result("The program ended with exit code 1.\nOutput since then:\n[stderr] no items", ENDED),
    ),
    one(
        *(
            "debug",
            "evaluate",
            "An expression.",
            "done",
            {"action": "evaluate", "expression": "len(self.items)"},
        ),
        Result("3 (int)", DebugDetails(action="evaluate", snapshot=summary(PLACE))),
    ),
    one(
        *("debug", "breakpoint", "A breakpoint.", "done"),
        {"action": "set_breakpoint", "file": "src/shop/orders.py", "line": 40, "condition": "amount < 0"},
        Result("Breakpoints in orders.py:\n  src/shop/orders.py:40 if amount < 0: set"),
    ),
    one(
        "debug", "no-session", "There is nothing to debug.", "failed", {"action": "pause"}, Result(NOT_THERE)
    ),
]
