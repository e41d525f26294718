"""Python packages as plugins: all of them in one folder, beside the packages that tau itself uses."""

import asyncio
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import DecodeError, json

from tau.base.errors import TauError
from tau.base.files import locked, make_private
from tau.base.programs import find_program
from tau.base.version import VERSION
from tau.ext.plugins.fetch import last_line, run
from tau.ext.plugins.store import PluginRecord

REQUIREMENTS = "requirements.json"
_SIDE = re.compile("The user requested| depends on | requires |^Because ")
STUB = f"tau_agent-{VERSION}"


class PackageStore:
    """`site-packages` in `folder` is a link to the folder in use; a change makes another one.

    A running session keeps the folder that it has begun with: the one before the last change stays.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.link = folder / "site-packages"

    def records(self) -> list[PluginRecord]:
        versions = dict(_distributions(self.link))
        return [
            PluginRecord(name=name, source=one, kind="package", version=versions.get(name, ""))
            for one in self._requirements()
            for name in (package_name(one),)
        ]

    def get(self, name: str) -> PluginRecord | None:
        return next((one for one in self.records() if one.name == package_name(name)), None)

    def install(self, requirement: str) -> PluginRecord:
        """A package that is there already is replaced. Raises TauError; then nothing has changed."""
        if requirement.endswith(".whl"):  # all are installed again with each change, so it has to stay
            make_private(self.folder / "wheels")
            kept = self.folder / "wheels" / Path(requirement).name
            if not kept.exists() or not kept.samefile(requirement):
                shutil.copyfile(requirement, kept)
            requirement = str(kept)
        name = package_name(requirement)
        self._change([*(one for one in self._requirements() if package_name(one) != name), requirement])
        return next(one for one in self.records() if one.name == name)

    def remove(self, name: str) -> None:
        self._change([one for one in self._requirements() if package_name(one) != package_name(name)])

    def update(self) -> None:
        self._change(self._requirements())

    def _requirements(self) -> list[str]:
        try:
            return json.decode((self.link / REQUIREMENTS).read_bytes(), type=list[str])
        except (FileNotFoundError, DecodeError):
            return []

    def _change(self, requirements: Sequence[str]) -> None:
        """Install all into a new folder, then swap the link."""
        make_private(self.folder)
        with locked(self.folder / "lock"):
            before = Path(os.path.realpath(self.link)).parent
            place = Path(tempfile.mkdtemp(prefix="packages-", dir=self.folder))
            target = place / "site-packages"
            target.mkdir()
            try:
                if requirements:
                    asyncio.run(_install(requirements, target))
                (target / REQUIREMENTS).write_bytes(json.encode(list(requirements)))
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            new = self.folder / ".site-packages.new"
            new.unlink(missing_ok=True)
            new.symlink_to(f"{place.name}/site-packages")
            new.replace(self.link)
            for old in self.folder.glob("packages-*"):
                if old not in (before, place):
                    shutil.rmtree(old, ignore_errors=True)


def package_name(requirement: str) -> str:
    """The normalized name in a requirement or in the name of a wheel."""
    path = Path(requirement)
    name = path.name.partition("-")[0] if path.suffix == ".whl" else requirement
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~ ;@]", name)[0]).lower()


def _distributions(folder: Path) -> Iterator[tuple[str, str]]:
    """The name and version of each package in a folder."""
    for entry in sorted(folder.glob("*.dist-info")):
        name, _, version = entry.name.removesuffix(".dist-info").rpartition("-")
        if name:
            yield package_name(name), version


async def _install(requirements: Sequence[str], target: Path) -> None:
    """Install packages into a folder, all at once, with tau's own versions. Raises TauError."""
    folders = [folder for folder in sys.path if folder.endswith("site-packages")]
    usual = [
        Path(folder) for folder in folders if not Path(folder).is_relative_to(target.parents[1].resolve())
    ]
    own = dict(one for folder in usual for one in _distributions(folder))
    own["tau-agent"] = VERSION
    uv = find_program("uv")
    head = (
        (uv, "pip", "install", "--python", sys.executable)
        if uv
        else (sys.executable, "-m", "pip", "install", "--disable-pip-version-check")
    )
    with tempfile.TemporaryDirectory(prefix="tau-packages-") as stage:
        constraints = Path(stage, "constraints.txt")
        constraints.write_text("".join(f"{name}=={own[name]}\n" for name in sorted(own)), encoding="utf-8")
        _write_stub(Path(stage))
        options = ("--target", str(target), "--only-binary", ":all:", "--constraint", str(constraints))
        code, output = await run(
            (*head, *options, "--find-links", stage, *requirements),
            target,
            env={
                name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))
            },
        )
    if code:
        raise TauError(f"The packages cannot be installed beside tau: {_reason(output, own)}")
    for entry in target.glob("tau_agent-*"):
        shutil.rmtree(entry)


def _write_stub(folder: Path) -> None:
    """Write an empty wheel of tau: packages depend on it, and it is here already."""
    facts = f"Metadata-Version: 2.1\nName: tau-agent\nVersion: {VERSION}\n"
    wheel = "Wheel-Version: 1.0\nGenerator: tau\nRoot-Is-Purelib: true\nTag: py3-none-any\nBuild: 999\n"
    with zipfile.ZipFile(folder / f"{STUB}-999-py3-none-any.whl", "w") as archive:
        for name, text in {"METADATA": facts, "WHEEL": wheel, "RECORD": ""}.items():
            archive.writestr(f"{STUB}.dist-info/{name}", text)


def _reason(output: str, own: dict[str, str]) -> str:
    """Why it failed, with both sides of a conflict."""
    lines = [line.strip(" ×╰─▶\t").removeprefix("ERROR: ") for line in output.splitlines()]
    sides = [
        line.removeprefix("cause: ").rstrip(".")
        for line in lines
        if _SIDE.search(line) and "(constraint)" not in line
    ]
    shown = "; ".join(dict.fromkeys(sides[:3])) or last_line("\n".join(lines))
    named = [name for name in own if re.search(rf"\b{re.escape(name)}\b", shown)]
    return "; ".join([shown.rstrip("."), *(f"tau uses {name} {own[name]}" for name in named[:3])]) + "."
