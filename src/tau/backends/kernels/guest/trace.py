"""Tracebacks of cells, without our own frames and with few library frames."""

import linecache
import os
import sysconfig
import traceback

OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep  # noqa: PTH100, PTH120 - as in main.py
PLACES = sysconfig.get_paths()
LIBRARIES = tuple(PLACES[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def register(name: str, code: str) -> None:
    """Let tracebacks, warnings and `inspect` find the source of a cell."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)


def register_all(sources: "dict[str, str]") -> None:
    for name, code in sources.items():
        register(name, code)


def describe(error: BaseException, sources: "dict[str, str]") -> str:
    register_all(sources)
    report = traceback.TracebackException.from_exception(error)
    _trim(report)
    lines = report.format() if report.stack or _relatives(report) else report.format_exception_only()
    return "".join(lines)


def _trim(report: "traceback.TracebackException") -> None:
    kept: list[traceback.FrameSummary] = []
    frames = list(report.stack)
    if frames and frames[0].filename.startswith(OURS):  # ... and the event loop that runs the cell
        frames = frames[next((n for n, frame in enumerate(frames) if frame.filename[:5] == "<cell"), 0) :]
    for frame in frames:
        if frame.filename.startswith((OURS, "<frozen importlib")):
            continue
        if kept and _is_library(frame) and _is_library(kept[-1]):
            kept.pop()  # of a run of library frames, keep only the innermost
        kept.append(frame)
    report.stack[:] = kept
    for relative in _relatives(report):
        _trim(relative)


def _relatives(report: "traceback.TracebackException") -> "list[traceback.TracebackException]":
    nested = getattr(report, "exceptions", None) or []
    return [other for other in (report.__cause__, report.__context__, *nested) if other is not None]


def _is_library(frame: "traceback.FrameSummary") -> bool:
    return frame.filename.startswith(LIBRARIES)
