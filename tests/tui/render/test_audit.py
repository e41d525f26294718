"""The audit distinguishes a change in place from moved rows."""

from tau.tui.render.audit import Audit, visible_text
from tests.tui.render.render_rig import numbered


def audit_of(rows: list[str]) -> Audit:
    audit = Audit()
    audit.commit(rows)
    return audit


def test_same_rows_are_in_order_and_so_are_additional_ones() -> None:
    rows = numbered(1, 100)
    audit = audit_of(rows[:60])
    assert audit.first_shifted(rows) is None
    assert audit.first_shifted(list(rows)) is None


def test_style_change_is_ignored() -> None:
    rows = numbered(1, 60)
    audit = audit_of([f"\x1b[31m{row}\x1b[39m" for row in rows])
    assert audit.first_shifted(rows) is None


def test_single_row_changed_in_place_is_ignored() -> None:
    rows = numbered(1, 60)
    audit = audit_of(rows)
    assert audit.first_shifted([*rows[:50], "other", *rows[51:]]) is None


def test_inserted_row_is_located() -> None:
    rows = numbered(1, 1500)
    audit = audit_of(rows[:1400])
    assert audit.first_shifted([*rows[:700], "new", *rows[700:]]) == 700


def test_removed_row_is_located() -> None:
    rows = numbered(1, 100)
    assert audit_of(rows[:80]).first_shifted([*rows[:10], *rows[11:]]) == 10


def test_blank_rows_prove_nothing() -> None:
    rows = [*numbered(1, 3), *[""] * 40]
    audit = audit_of(rows)
    assert audit.first_shifted([*numbered(1, 2), *[""] * 41]) is None


def test_truncated_rows_are_not_compared() -> None:
    audit = audit_of(numbered(1, 50))
    audit.truncate(20)
    assert len(audit) == 20
    assert audit.first_shifted([*numbered(1, 20), *["other"] * 30]) is None


def test_change_back_and_forth_is_noticed_each_time() -> None:
    rows = numbered(1, 50)
    audit = audit_of(rows[:40])
    moved = ["new", *rows]
    assert [audit.first_shifted(frame) for frame in (rows, moved, rows, moved)] == [None, 0, None, 0]


def test_visible_text_has_no_sequences_and_no_trailing_blanks() -> None:
    assert visible_text("\x1b[1mbold\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\  ") == "bold link"
    assert visible_text("a\x1b_tau:cursor\x1b\\b") == "ab"
