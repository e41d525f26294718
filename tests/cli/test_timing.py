"""TAU_TIMING=1 shows where the time went, and is silent otherwise."""

import pytest

from tau.cli import timing


def test_nothing_is_recorded_when_off(capsys: pytest.CaptureFixture[str]) -> None:
    timing.mark("first")
    timing.report()
    assert capsys.readouterr().err == ""


def test_phases_add_up_from_the_start_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(timing, "ON", True)
    timing.mark("first")
    timing.mark("second")
    timing.mark("first")
    timing.report()
    title, *rows = capsys.readouterr().err.splitlines()
    assert title.startswith("tau: ")
    assert [row.split()[0] for row in rows] == ["first", "second"]
    (one, so_far), (other, total) = [[float(number) for number in row.split()[-2:]] for row in rows]
    assert one == so_far
    assert one + other == pytest.approx(total, abs=0.2)


def test_without_proc_the_cpu_time_approximates_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(timing, "ON", True)
    monkeypatch.setattr(timing, "open", no_file, raising=False)
    timing.mark("first")
    assert timing.process_start() < timing._marks[0][1]
    timing._marks.clear()
    timing._cpu_before.clear()
