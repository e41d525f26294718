"""Labels of a session in lists, and its preview."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from tau.coding.session_index.index import SessionIndex
from tau.coding.session_index.labels import age_text, folder_text, sessions_in, speaker, title_of
from tau.coding.session_index.records import SessionSummary
from tau.coding.session_index.search import SessionPreview, preview_session
from tests.coding.session_index.session_files import answer, user, write


def test_title_is_the_name_the_first_words_or_the_problem() -> None:
    assert title_of(SessionSummary(first_prompt="Fix it\nnow")) == "Fix it"
    assert title_of(SessionSummary(name="Parser\x1b[31m", named=True, first_prompt="Fix it")) == "Parser"
    assert title_of(SessionSummary(problem="no header")) == "(no header)"
    assert title_of(SessionSummary(first_prompt="Fix it", problem="no header")) == "Fix it (no header)"
    assert title_of(SessionSummary()) == "Untitled session"


def test_folder_is_abbreviated_with_a_tilde() -> None:
    assert folder_text("/home/me/x", "/home/me") == "~/x"
    assert folder_text("/home/me", "/home/me") == "~"
    assert folder_text("/home/meadow", "/home/me") == "/home/meadow"
    assert folder_text("/srv\x07", "/home/me") == "/srv"
    assert folder_text("") == "(unknown folder)"
    assert folder_text(f"{Path.home()}/src") == "~/src"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5, "now"),
        (90, "1 min"),
        (7_200, "2 h"),
        (86_400 * 60, "60 d"),
        (86_400 * 200, "6 mo"),
        (10**8, "3 y"),
    ],
)
def test_ages_are_short(seconds: int, text: str) -> None:
    assert age_text(0, seconds * 1000) == text
    assert age_text(10**15, 0) == "now"


def test_speaker_prefix() -> None:
    assert [speaker(role) for role in ("user", "assistant", "name")] == ["You: ", "Answer: ", ""]


def test_preview_has_the_first_prompts_and_the_last_answer(tmp_path: Path) -> None:
    texts = [user(f"u{number}", f"Question {number}") for number in range(5)]
    path = write(tmp_path / "s", *texts, answer("a1", "First."), answer("a2", "Last."), flat=True)
    with SessionIndex(tmp_path / "index.db", tmp_path / "s", flat=True) as index:
        [row] = index.sessions()
        looked = preview_session(index, os.fsencode(path))
        assert looked == SessionPreview(["Question 0", "Question 1", "Question 2"], 2, "Last.")
        assert preview_session(index, b"/no/such.jsonl") == SessionPreview((), 0, "")
        elsewhere = replace(row, summary=replace(row.summary, cwd="/elsewhere"))
        nowhere = replace(row, summary=replace(row.summary, cwd=""))
        assert sessions_in([elsewhere, nowhere], "/elsewhere") == [elsewhere, nowhere]
        assert sessions_in([elsewhere, nowhere], "/here") == [nowhere]
