"""An approval request as text, for every kind of thing that is asked about."""

from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from tau.coding.approval.policy import ApprovalItem, Kind
from tau.coding.approval.request import ApprovalRequest
from tau.coding.approval.request_text import (
    MAX_SHOWN_CHARS,
    allowing_choices,
    describe_request,
    heading,
)


def request_for(item: ApprovalItem) -> ApprovalRequest:
    return ApprovalRequest(
        tool="t", label="T", arguments={}, cwd=Path("/"), questions=(item,), for_session=True
    )


@pytest.mark.parametrize("kind", get_args(Kind))
def test_each_kind_has_a_heading_and_says_what_a_session_covers(kind: Kind) -> None:
    request = request_for(ApprovalItem("do it", (kind, "x"), kind, "x", True))
    assert heading(request).startswith("Allow this ")
    assert [choice.about for choice in allowing_choices(request)][1] not in ("", "Covers .")
    assert "do it" in describe_request(request)


def test_notes_that_are_too_long_to_show_cannot_be_allowed() -> None:
    item = ApprovalItem("call it", None, "mcp", "s.t", notes=("x" * (MAX_SHOWN_CHARS + 1),))
    assert allowing_choices(request_for(item)) == []


def test_a_question_leaves_no_argument_out_because_its_letters_occur_elsewhere() -> None:
    item = ApprovalItem("create a pull request in evil/evil on github.com", None, "tool", "github")
    arguments = {"title": "t", "body": "b", "force": True, "labels": ["request"]}
    request = replace(request_for(item), arguments=arguments)
    rows = describe_request(request).splitlines()[2:]
    assert rows == ["title: t", "body: b", "force: true", 'labels: ["request"]']


def test_lines_of_a_value_never_look_like_another_row() -> None:
    item = ApprovalItem("run: ls\nfolder: /safe", None, "run", "ls\nfolder: /safe", notes=())
    arguments = {"a": "1\nserver: trusted", "b\nserver": "x", "command": "ls\nfolder: /safe"}
    request = replace(request_for(item), arguments=arguments, details=(("server", "real\nserver: fake"),))
    rows = [row for row in describe_request(request).splitlines() if not row.startswith("  ")]
    assert [row.partition(":")[0] for row in rows] == ["T", "folder", "server", "a", "b"]
