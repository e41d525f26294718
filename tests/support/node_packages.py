"""Downloads the npm packages of tests, once, into the real user's cache.

Run `python -m tests.support.node_packages`. The tests themselves do not: they know neither the user's
certificates and proxies nor their home.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

XTERM, OIDC = "xterm-6.0.0", "oidc-provider-9.13.3"
PACKAGES = {
    XTERM: ("@xterm/headless@6.0.0", "@xterm/addon-unicode11@0.9.0"),
    OIDC: ("oidc-provider@9.13.3",),
}
INSTALL_SECONDS = 120


def modules(name: str) -> Path:
    """The folder of a group of packages, whether installed or not."""
    cache = os.environ.get("CACHE_OF_TESTER") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tau-tests" / name


def install(name: str) -> str:
    """Install a group if it is missing; returns the problem, or nothing."""
    folder = modules(name)
    if folder.is_dir():
        return ""
    if shutil.which("npm") is None:
        return "npm is not installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        fresh = Path(work) / "fresh"
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(fresh), *PACKAGES[name]]
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
    for group in PACKAGES:
        if problem := install(group):
            print(f"Continuing without {group}: {problem}", file=sys.stderr)
