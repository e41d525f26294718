"""The lists of breakpoints that a session keeps."""

import pytest

from tau.backends.dap.breakpoints import MAX_BREAKPOINTS, Breakpoints
from tau.backends.dap.connection import DapError
from tau.backends.dap.protocol import BreakpointRow


def test_breakpoints_are_limited_over_all_files() -> None:
    breakpoints = Breakpoints()
    for line in range(1, MAX_BREAKPOINTS + 1):
        breakpoints.put("source", BreakpointRow(path=f"/{line % 7}.py", line=line))
    with pytest.raises(DapError, match="1,000 source breakpoints already"):
        breakpoints.put("source", BreakpointRow(path="/new.py", line=1))
    breakpoints.put("source", BreakpointRow(path="/1.py", line=1, condition="x"))  # replaces one
    breakpoints.put("function", BreakpointRow(function="main"))
    assert breakpoints.count("source") == MAX_BREAKPOINTS
