"""The session as a tree of rows: order, filters, search, connecting lines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai.wire import (
    AssistantContent,
    AssistantMessage,
    BashExecutionMessage,
    ImageContent,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.base.clock import iso
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.snippets import UNKNOWN, snippet
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.tree_rows import (
    TREE_FILTERS,
    SessionTree,
    TreeFilter,
    TreeRow,
    current_row,
    draw_row,
    labels_of,
    prefix,
)


class Lines:
    """A log of given lines, however wrong their parents are."""

    def __init__(self, entries: Sequence[dict[str, Any]], leaf: str | None = None) -> None:
        self.leaf = leaf
        self._nodes = [
            EntryNode(entry["type"], entry["id"], entry.get("parentId"), place, 0)
            for place, entry in enumerate(entries)
        ]
        self._lines = [msgspec.json.encode(entry) for entry in entries]
        self.read = 0

    def nodes(self) -> list[EntryNode]:
        return self._nodes

    def line(self, node: EntryNode) -> bytes:
        self.read += 1
        return self._lines[node.start]


def line(id: str, parent: str | None, *, at: int = 0, text: str = "") -> dict[str, Any]:
    message = {"role": "user", "content": text or id, "timestamp": at}
    return {"type": "message", "id": id, "parentId": parent, "timestamp": iso(at), "message": message}


def memory_log() -> SessionLog:
    return SessionLog.new(None, Path("/project"))


def user(log: SessionLog, text: str) -> str:
    return log.append_message(UserMessage(text, 0))


def answer(log: SessionLog, *content: AssistantContent, stop: StopReason = "stop", error: str = "") -> str:
    return log.append_message(
        AssistantMessage(list(content), "faux", "faux", "faux", Usage(), stop, 0, error or msgspec.UNSET)
    )


def result(log: SessionLog, call: str, text: str = "output") -> str:
    return log.append_message(ToolResultMessage(call, "bash", [TextContent(text)], False, 0))


def bash(command: str, id: str = "call_1") -> ToolCall:
    return ToolCall(id, "bash", {"command": command})


def ids(rows: Sequence[TreeRow]) -> list[str]:
    return [row.id for row in rows]


def drawing(rows: Sequence[TreeRow]) -> list[str]:
    return [draw_row(rows, place) for place in range(len(rows))]


def texts(log: SessionLog, filter: TreeFilter = "default", query: str = "") -> list[str]:
    return [row.text for row in SessionTree(log).rows(filter, query)]


def test_only_branches_are_indented_and_the_active_one_is_marked() -> None:
    log = memory_log()
    user(log, "Start task")
    plan = answer(log, TextContent("Plan"))
    user(log, "Try approach A")
    a = answer(log, TextContent("A result"))
    user(log, "Continue A")
    log.move(a)
    user(log, "Again")
    log.move(plan)
    user(log, "Try approach B")
    b = answer(log, TextContent("B result"))
    log.append(s.LabelEntry(target_id=b, label="milestone"))
    assert drawing(SessionTree(log).rows()) == [
        "• user: Start task",
        "• assistant: Plan",
        "├─ user: Try approach A",
        "│  assistant: A result",
        "│  ├─ user: Continue A",
        "│  └─ user: Again",
        "└─ • user: Try approach B",
        "   • [milestone] assistant: B result",
    ]


def test_siblings_are_sorted_by_time_not_by_file_order() -> None:
    log = Lines([line("root", None), line("late", "root", at=9), line("early", "root", at=5)], "late")
    assert ids(SessionTree(log).rows()) == ["root", "early", "late"]


def test_several_roots_are_drawn_as_branches_of_a_hidden_root() -> None:
    log = Lines(
        [line("a", None), line("b", "a"), line("orphan", "gone", at=1), line("c", "orphan", at=2)], "c"
    )
    assert drawing(SessionTree(log).rows()) == [
        "├─ user: a",
        "│  user: b",
        "└─ • user: orphan",
        "   • user: c",
    ]


def test_cyclic_or_forward_parents_become_roots() -> None:
    log = Lines([line("a", "b"), line("b", "a"), line("self", "self"), line("c", "b")], "c")
    rows = SessionTree(log).rows("all")
    assert sorted(ids(rows)) == ["a", "b", "c", "self"]
    assert [row.id for row in rows if row.parent == -1] == ["a", "self"]
    assert [row.id for row in rows if row.active] == ["a", "b", "c"]


def test_empty_session_has_no_rows() -> None:
    assert SessionTree(memory_log()).rows("all") == []
    assert current_row([]) == -1


def test_filters_show_what_they_are_named_for() -> None:
    log = memory_log()
    log.append(s.ModelChange(provider="p", model_id="m"))
    asked = user(log, "Look")
    answer(log, TextContent("I look"), bash("ls"), stop="toolUse")
    result(log, "call_1")
    log.append(s.CustomEntry(custom_type="state"))
    log.append(s.ThinkingLevelChange(thinking_level="high"))
    log.append(s.CustomMessageEntry(custom_type="memo", content="note"))
    log.append(s.LabelEntry(target_id=asked, label="here"))
    log.append(s.SessionInfo(name="Name"))
    answer(log, TextContent("Done"))
    assert texts(log) == ["Look", "I look", "[bash: ls]", "memo: note", "Done"]
    assert texts(log, "no-tools") == ["Look", "I look", "memo: note", "Done"]
    assert texts(log, "user-only") == ["Look"]
    assert texts(log, "labeled-only") == ["Look"]
    assert texts(log, "all") == [
        *("p/m", "Look", "I look", "[bash: ls]", "state", "high", "memo: note", "here", "Name", "Done")
    ]


@pytest.mark.parametrize(
    ("content", "stop", "shown"),
    [
        ([bash("ls")], "toolUse", False),
        ([ThinkingContent("Hm."), bash("ls")], "toolUse", False),
        ([TextContent(" \n"), bash("ls")], "stop", False),
        ([bash("ls")], "aborted", True),
        ([bash("ls")], "error", True),
        ([bash("ls")], "length", True),
        ([TextContent("So."), bash("ls")], "toolUse", True),
        ([ThinkingContent("Hm.")], "stop", True),
        ([], "stop", True),
    ],
)
def test_tool_only_answers_are_hidden_unless_they_failed(
    content: list[AssistantContent], stop: StopReason, shown: bool
) -> None:
    log = memory_log()
    user(log, "Look")
    called = answer(log, *content, stop=stop)
    user(log, "Next")
    tree = SessionTree(log)
    for filter in ("default", "no-tools"):
        assert (called in ids(tree.rows(filter))) is shown
    assert called in ids(tree.rows("all"))


def test_tool_only_answer_is_shown_while_it_is_the_leaf() -> None:
    log = memory_log()
    user(log, "Look")
    called = answer(log, bash("ls"), stop="toolUse")
    tree = SessionTree(log)
    assert tree.rows()[-1].id == called and tree.rows()[-1].leaf
    result(log, "call_1")
    assert called not in ids(tree.rows())


def test_labeled_entry_is_shown_even_if_otherwise_hidden() -> None:
    log = memory_log()
    called = answer(log, bash("ls"), stop="toolUse")
    log.append(s.LabelEntry(target_id=called, label="pivot"))
    user(log, "Next")
    assert texts(log, "labeled-only") == ["[bash: ls]"]


def test_latest_label_wins_and_an_empty_one_removes_it() -> None:
    log = memory_log()
    first, second = user(log, "a"), user(log, "b")
    for target, label in ((first, "one"), (second, "x"), (first, " two\n "), (second, ""), ("gone", "lost")):
        log.append(s.LabelEntry(target_id=target, label=label))
    log.append(s.LabelEntry(target_id="gone"))
    assert labels_of(log) == {first: "two"}
    assert [(row.id, row.title) for row in SessionTree(log).rows("labeled-only")] == [
        (first, "[two] user: a")
    ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("parser", ["Fix the Parser", "The PARSER works"]),
        ("PARSER works", ["The PARSER works"]),
        ("works parser", ["The PARSER works"]),
        ("parser missing", []),
        ("user", ["Fix the Parser"]),
        ("assistant", ["The PARSER works"]),
        ("pytest", ["[bash: pytest -x]", "The PARSER works"]),
        ("4711", ["[bash: pytest -x]"]),
        ("landmark", ["Fix the Parser"]),
        ("landmark fix", ["Fix the Parser"]),
        ("tried", ["tried regular expressions"]),
        ("branch_summary", ["tried regular expressions"]),
        ("weather", ["weather: sunny"]),
        ("make", ["make test"]),
    ],
)
def test_search_matches_all_words_in_labels_roles_texts_and_commands(query: str, found: list[str]) -> None:
    log = memory_log()
    first = user(log, "Fix the Parser")
    log.append(s.BranchSummaryEntry(from_id="root", summary="tried regular\nexpressions"))
    log.append(s.CustomMessageEntry(custom_type="weather", content="sunny"))
    log.append_message(BashExecutionMessage("make test", "ok", 0, False, False, 0))
    answer(log, bash("pytest -x"), stop="toolUse")
    result(log, "call_1", "4711 passed")
    log.append(s.LabelEntry(target_id=first, label="Landmark"))
    answer(log, TextContent("The PARSER works"), bash("pytest -q", "call_2"), stop="toolUse")
    assert texts(log, "default", query) == found


def test_search_includes_bookkeeping_when_everything_is_shown() -> None:
    log = memory_log()
    log.append(s.ModelChange(provider="acme", model_id="large"))
    user(log, "Hi")
    assert texts(log, "all", "model acme") == ["acme/large"]
    assert texts(log, "default", "model acme") == []


def test_rows_between_matches_are_left_out_and_the_lines_close_up() -> None:
    log = memory_log()
    root = user(log, "x root")
    fork = answer(log, TextContent("fork"))
    user(log, "x one")
    log.move(fork)
    answer(log, TextContent("between"))
    user(log, "x two")
    log.move(root)
    user(log, "other")
    rows = SessionTree(log).rows("default", "x")
    assert drawing(rows) == ["• user: x root", "├─ user: x one", "└─ user: x two"]
    assert rows[current_row(rows)].id == root


def test_row_is_short_single_line_and_free_of_escapes() -> None:
    log = memory_log()
    user(log, "\n\n  " + " " * 1000 + "\x1b[31mred\x1b[0m\talert\u202e " + "long " * 1000)
    (row,) = SessionTree(log).rows()
    assert row.text.startswith("red alert<U+202E> long long")
    assert len(row.text) <= 200 and row.text.endswith("…") and row.text.isprintable()


def test_unknown_entries_are_shown_by_type() -> None:
    strange = {"type": "from_the_future", "id": "x", "parentId": "a", "timestamp": iso(1)}
    role = {"type": "message", "id": "y", "parentId": "x", "timestamp": iso(2), "message": {"role": "odd"}}
    log = Lines([line("a", None), strange, role, line("b", "y", at=3)], "b")
    assert [row.title for row in SessionTree(log).rows()] == [
        *("user: a", f"from_the_future: {UNKNOWN}", f"message: {UNKNOWN}", "user: b")
    ]


def test_preview_falls_back_to_image_error_or_thinking() -> None:
    log = memory_log()
    log.append_message(UserMessage([ImageContent("aGk=", "image/png")], 0))
    answer(log, stop="error", error="The server is down.")
    answer(log, stop="aborted")
    answer(log, ThinkingContent("Hm."))
    rows = SessionTree(log).rows()
    assert [row.text for row in rows] == ["(image)", "The server is down.", "(aborted)", "(thinking)"]
    assert [row.failed for row in rows] == [False, True, True, False]


def test_calls_are_shown_by_their_most_telling_argument() -> None:
    log = memory_log()
    calls = [
        *(bash("ls -l\npwd", "1"), ToolCall("2", "read", {"limit": 3, "path": "a.py"})),
        *(ToolCall("3", "odd", {"n": 1}), ToolCall("4", "bare", {}), ToolCall("5", "bash", {"command": 7})),
    ]
    answer(log, *calls, stop="toolUse")
    for call in calls:
        log.append_message(ToolResultMessage(call.id, call.name, [], False, 0))
    log.append_message(ToolResultMessage("9", "lost", [], True, 0))
    assert texts(log) == [
        *("[bash: ls -l pwd]", "[read: a.py]", '[odd: {"n":1}]', "[bare]", '[bash: {"command":7}]', "[lost]")
    ]


def test_every_kind_of_entry_has_a_label() -> None:
    samples: dict[type, dict[str, Any]] = {
        s.MessageEntry: {"message": UserMessage("text", 0)},
        s.UsageEntry: {"kind": "title", "provider": "p", "model": "m", "usage": Usage()},
        s.CompactionEntry: {"summary": "sum", "first_kept_entry_id": "x"},
        s.BranchSummaryEntry: {"summary": "sum", "from_id": "x"},
        s.ContextEdit: {"target_id": "x"},
        s.CustomEntry: {"custom_type": "x"},
        s.CustomMessageEntry: {"custom_type": "x", "content": "y"},
        s.LabelEntry: {"target_id": "x"},
        s.SessionInfo: {"name": "x"},
        s.ModelChange: {"model": "p/m"},
        s.ThinkingLevelChange: {"thinking_level": "low"},
        s.TierChange: {"service_tier": "flex"},
        s.ModeChange: {"mode": "plan"},
        s.RuleInjection: {"injected_rules": ["x"]},
        s.McpToolSelection: {"selected_tool_names": ["x"]},
        s.SessionInit: {"system_prompt": "x", "task": "y", "tools": []},
    }
    for kind in get_args(s.KnownEntry):
        assert snippet(kind(**samples[kind]), {}).text, kind


def test_appended_entries_are_read_once_and_join_the_tree() -> None:
    log = Lines([line("a", None), line("b", "a")], "b")
    tree = SessionTree(log)
    for filter in TREE_FILTERS:
        tree.rows(filter)
    assert log.read == 2
    more = Lines([line("a", None), line("b", "a"), line("c", "a", at=1)], "c")
    log._nodes, log._lines, log.leaf = more._nodes, more._lines, "c"
    assert drawing(tree.rows()) == ["• user: a", "├─ user: b", "└─ • user: c"]
    assert log.read == 3
    log.leaf = "b"
    assert [row.id for row in tree.rows() if row.active] == ["a", "b"]


def test_entry_without_a_time_came_after_the_one_before_it() -> None:
    strange = {"type": "from_the_future", "id": "x", "parentId": "b"}
    entries = [line("a", None, at=1), line("b", "a", at=2), strange]
    log = Lines(entries[:2], "b")
    tree = SessionTree(log)
    tree.rows()
    more = Lines(entries, "x")
    log._nodes, log._lines = more._nodes, more._lines
    for rows in (tree.rows(), SessionTree(more).rows()):
        assert [row.timestamp for row in rows] == [iso(1), iso(2), iso(2)]
    assert SessionTree(Lines([strange])).rows()[0].timestamp == ""


def test_rewritten_log_is_read_again() -> None:
    log = Lines([line("a", None), line("b", "a")], "b")
    tree = SessionTree(log)
    tree.rows()
    other = Lines([line("x", None)], "x")
    log._nodes, log._lines, log.leaf = other._nodes, other._lines, "x"
    assert ids(tree.rows()) == ["x"]


@pytest.mark.parametrize("count", [3_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_long_conversation_is_walked_without_recursion_and_read_once(count: int) -> None:
    log = Lines([line(str(n), str(n - 1) if n else None, at=n) for n in range(count)], str(count - 1))
    tree = SessionTree(log)
    rows = tree.rows()
    assert ids(rows) == [str(n) for n in range(count)]
    assert {row.depth for row in rows} == {0} and all(row.active for row in rows)
    assert prefix(rows, count - 1) == ""
    tree.rows("all", "1")
    assert log.read == count


def test_deep_branches_show_only_the_nearest_levels() -> None:
    entries = [line("0", None)]
    for n in range(1, 2_000):
        entries += [line(f"{n}", f"{n - 1}", at=2 * n + 1), line(f"side{n}", f"{n - 1}", at=2 * n)]
    rows = SessionTree(Lines(entries)).rows()
    assert rows[-1].depth == 1_999
    assert prefix(rows, len(rows) - 1, 3) == "…       └─ "


KINDS = ("user", "call", "said", "result", "label", "custom", "model_change", "unknown")


@st.composite
def forests(draw: st.DrawFn) -> Lines:
    """Any entries with any parents: none, missing, themselves, later ones, cycles."""
    count = draw(st.integers(1, 30))
    names = [str(n) for n in range(count)]
    entries = []
    for name in names:
        kind = draw(st.sampled_from(KINDS))
        parent = draw(st.sampled_from([None, "missing", *names]))
        if draw(st.booleans()):
            parent = draw(st.sampled_from([None, *names[: int(name)]]))
        entries.append(_entry(name, parent, kind, draw(st.integers(0, 5)), draw(st.sampled_from(names))))
    return Lines(entries, draw(st.sampled_from([None, "missing", *names])))


def _entry(id: str, parent: str | None, kind: str, at: int, target: str) -> dict[str, Any]:
    place = {"id": id, "parentId": parent, "timestamp": iso(at)}
    shared = {"api": "a", "provider": "p", "model": "m", "usage": {}, "timestamp": 0, "stopReason": "stop"}
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": f"run {id}"}}
    messages: dict[str, dict[str, Any]] = {
        "user": {"role": "user", "content": f"text {id}", "timestamp": 0},
        "call": {"role": "assistant", "content": [call], **shared},
        "said": {"role": "assistant", "content": [{"type": "text", "text": f"text {id}"}], **shared},
        "result": {
            "role": "toolResult",
            "toolCallId": "c",
            "toolName": "bash",
            "content": [],
            "isError": False,
            "timestamp": 0,
        },
    }
    if kind in messages:
        return {**place, "type": "message", "message": messages[kind]}
    more = {
        "label": {"targetId": target, "label": f"mark {id}" if at else ""},
        "custom": {"customType": "x"},
        "model_change": {"provider": "p", "modelId": "m"},
    }
    return {**place, "type": kind, **more.get(kind, {})}


@given(
    forests(), st.sampled_from(TREE_FILTERS), st.sampled_from(["", "text", "TEXT 1", "run", "mark", "user"])
)
def test_any_forest_is_shown_completely_and_every_filter_keeps_its_order(
    log: Lines, filter: TreeFilter, query: str
) -> None:
    tree = SessionTree(log)
    everything = tree.rows("all")
    assert sorted(ids(everything), key=int) == [node.id for node in log.nodes()]
    rows = tree.rows(filter, query)
    shown = set(ids(rows))
    assert ids(rows) == [row.id for row in everything if row.id in shown]
    for row in rows:  # the parent is the nearest shown entry above
        above = everything[ids(everything).index(row.id)].parent
        while above >= 0 and everything[above].id not in shown:
            above = everything[above].parent
        assert (rows[row.parent].id if row.parent >= 0 else None) == (
            everything[above].id if above >= 0 else None
        )


def test_tree_draws_12_levels_and_100_characters_of_a_label() -> None:
    log = memory_log()
    for level in range(14):
        above = user(log, f"level {level}")
        user(log, "left")
        log.move(above)
    deepest = user(log, "deepest")
    log.append(s.LabelEntry(target_id=deepest, label="x" * 101))
    rows = SessionTree(log).rows()
    drawn = {row.depth: prefix(rows, number) for number, row in enumerate(rows)}
    assert len(drawn[12]) == 3 * 12 and "…" not in drawn[12]
    assert drawn[13].startswith("… ") and len(drawn[13]) == 2 + 3 * 12
    assert labels_of(log) == {deepest: "x" * 99 + "…"}


@given(forests(), st.sampled_from(TREE_FILTERS))
def test_lines_lead_from_every_row_to_its_siblings(log: Lines, filter: TreeFilter) -> None:
    rows = SessionTree(log).rows(filter)
    drawings = [prefix(rows, place, 100) for place in range(len(rows))]
    for place, row in enumerate(rows):
        siblings = [n for n, other in enumerate(rows) if other.parent == row.parent]
        alone = len(siblings) == 1
        assert row.connector == ("" if alone else "└" if place == siblings[-1] else "├")
        above = rows[row.parent].depth if row.parent >= 0 else 0
        assert row.depth == above + (not alone)
        assert len(drawings[place]) == 3 * row.depth
        assert row.head == (rows[row.parent].head if alone and row.parent >= 0 else place)
        for column, letter in enumerate(drawings[place]):  # a line continues until it ends at a corner
            if letter in "│├":
                assert drawings[place + 1][column] in "│├└"


@given(forests())
def test_active_branch_ends_at_the_leaf(log: Lines) -> None:
    rows = SessionTree(log).rows("all")
    place = current_row(rows)
    assert [row.id for row in rows if row.leaf] == ([log.leaf] if log.leaf in ids(rows) else [])
    assert (rows[place].id if place >= 0 else None) == (log.leaf if log.leaf in ids(rows) else None)
    path = set()
    while place >= 0:
        path.add(place)
        place = rows[place].parent
    assert path == {n for n, row in enumerate(rows) if row.active}
