"""Tests of a module are where its folder says."""

from tests.shape.source_tree import ROOT

OWN = {"bench", "contract", "e2e", "faults", "local", "safety", "shape", "support", "tools"}
# What needs many modules at once: all dialects, whole screens, other terminals.
ACROSS = {
    "ai/wire",
    "modes/interactive/screens",
    "modes/serve/page",
    "tui/second_opinion",
    "tui/stress",
    "tui/terminal/emulator",
}


def test_folders_of_tests_mirror_the_source() -> None:
    tests, source = ROOT / "tests", ROOT / "src" / "tau"
    folders = {path.parent.relative_to(tests).as_posix() for path in tests.rglob("test_*.py")}
    layers = {folder for folder in folders if folder.split("/")[0] not in OWN}
    assert len(layers) > 50
    across = {folder for folder in layers if any(f"{folder}/".startswith(f"{one}/") for one in ACROSS)}
    assert not {folder for folder in layers - across if not (source / folder).is_dir()}
