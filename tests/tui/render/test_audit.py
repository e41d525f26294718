"""The audit tells a change in place from rows that moved."""

from tau.tui.render.audit import Audit, visible_text
from tests.tui.render.stagehand import numbered


def audit_of(rows: list[str]) -> Audit:
    audit = Audit()
    audit.commit(rows)
    return audit


def test_the_same_rows_are_in_order_and_so_are_more_of_them() -> None:
    rows = numbered(1, 100)
    audit = audit_of(rows[:60])
    assert audit.first_shifted(rows) is None
    assert audit.first_shifted(list(rows)) is None


def test_another_style_is_no_change() -> None:
    rows = numbered(1, 60)
    audit = audit_of([f"\x1b[31m{row}\x1b[39m" for row in rows])
    assert audit.first_shifted(rows) is None


def test_one_row_changed_in_place_is_let_go() -> None:
    rows = numbered(1, 60)
    audit = audit_of(rows)
    assert audit.first_shifted([*rows[:50], "other", *rows[51:]]) is None


def test_an_inserted_row_is_found_where_it_came_in() -> None:
    rows = numbered(1, 1500)
    audit = audit_of(rows[:1400])
    assert audit.first_shifted([*rows[:700], "new", *rows[700:]]) == 700


def test_a_removed_row_is_found_where_it_was() -> None:
    rows = numbered(1, 100)
    assert audit_of(rows[:80]).first_shifted([*rows[:10], *rows[11:]]) == 10


def test_blank_rows_prove_nothing() -> None:
    rows = [*numbered(1, 3), *[""] * 40]
    audit = audit_of(rows)
    assert audit.first_shifted([*numbered(1, 2), *[""] * 41]) is None


def test_rows_that_no_longer_count_are_not_looked_at() -> None:
    audit = audit_of(numbered(1, 50))
    audit.truncate(20)
    assert len(audit) == 20
    assert audit.first_shifted([*numbered(1, 20), *["other"] * 30]) is None


def test_a_change_back_and_forth_is_seen_each_time() -> None:
    rows = numbered(1, 50)
    audit = audit_of(rows[:40])
    moved = ["new", *rows]
    assert [audit.first_shifted(frame) for frame in (rows, moved, rows, moved)] == [None, 0, None, 0]


def test_visible_text_has_no_sequences_and_no_blanks_at_its_end() -> None:
    assert visible_text("\x1b[1mbold\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\  ") == "bold link"
    assert visible_text("a\x1b_tau:cursor\x1b\\b") == "ab"
