"""Downloads xterm.js, once, into the real user's cache.

Run `python -m tests.tui.second_opinion.install`. The tests themselves do not: they know neither the user's
certificates and proxies nor their home.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ("@xterm/headless@6.0.0", "@xterm/addon-unicode11@0.9.0")
INSTALL_SECONDS = 120


def modules() -> Path:
    """Its path, whether installed or not."""
    cache = os.environ.get("CACHE_OF_TESTER") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tau-tests" / "xterm-6.0.0"


def install(folder: Path) -> str:
    """Install it if missing; returns the problem, or nothing."""
    if folder.is_dir():
        return ""
    if shutil.which("npm") is None:
        return "npm is not installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        fresh = Path(work) / "fresh"
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(fresh), *PACKAGES]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.CalledProcessError as error:
            return str(error.stderr).strip()
        except (subprocess.SubprocessError, OSError) as error:
            return str(error)
        with contextlib.suppress(OSError):  # another process was faster
            fresh.rename(folder)
    return ""


if __name__ == "__main__":
    problem = install(modules())
    if problem:
        print(f"Continuing without xterm.js as a second opinion: {problem}", file=sys.stderr)
