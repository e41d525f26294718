"""The tree: folding, walking, filtering, new data, and thousands of nodes."""

import pytest

from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key
from tau.tui.style import DARK_TOKENS, Theme
from tau.tui.text.clean import strip_styles
from tau.tui.text.width import visible_width
from tau.tui.widgets.tree import Tree, TreeNode

KEYS = Keymap()
PLAIN = Theme({}, depth="none")


def files() -> list[TreeNode]:
    return [
        TreeNode(
            "src",
            "src",
            [
                TreeNode("tui", "tui", [TreeNode("x", "x.py", marked=True)]),
                TreeNode("z", "z.py", note="3 kB"),
            ],
        ),
        TreeNode("tests", "tests", [TreeNode("t", "test_x.py")]),
    ]


def chain(count: int, name: str = "n") -> TreeNode:
    node = TreeNode(f"{name}{count}", f"{name} {count}")
    for number in range(count - 1, 0, -1):
        node = TreeNode(f"{name}{number}", f"{name} {number}", [node])
    return node


def shown(tree: Tree, width: int = 40) -> list[str]:
    return [strip_styles(row).rstrip() for row in tree.render(width)]


def press(tree: Tree, *names: str) -> None:
    for name in names:
        assert tree.handle_input(Key(name))


def at(tree: Tree) -> object:
    return tree.selected.value if tree.selected is not None else None


def test_lines_show_where_nodes_hang() -> None:
    tree = Tree(PLAIN, KEYS, files(), filterable=False)
    assert shown(tree) == [
        "❯ ▾ src",
        "  ├─▾ tui",
        "  │ └─x.py ✓",
        "  └─z.py 3 kB",
        "  ▾ tests",
        "  └─test_x.py",
    ]


def test_left_folds_or_goes_out_and_right_unfolds_or_goes_in() -> None:
    tree = Tree(PLAIN, KEYS, files(), filterable=False)
    press(tree, "right", "right")
    assert at(tree) == "x"
    press(tree, "left")
    assert at(tree) == "tui"
    press(tree, "left")
    assert shown(tree)[:3] == ["  ▾ src", "❯ ├─▸ tui", "  └─z.py 3 kB"]
    press(tree, "left")
    assert at(tree) == "src"
    press(tree, "left", "right", "down", "right", "right")
    assert at(tree) == "x"
    press(tree, "right", "home", "up")
    assert at(tree) == "t"


def test_enter_takes_a_node_and_moves_are_told() -> None:
    told: list[object] = []
    tree = Tree(
        PLAIN,
        KEYS,
        files(),
        on_select=lambda node: told.append(node.value),
        on_change=lambda node: told.append(f"see {node.value}"),
        on_cancel=lambda: told.append("left"),
    )
    press(tree, "down", "enter", "escape")
    assert told == ["see tui", "tui", "left"]
    assert not tree.handle_input(Key("f9"))


def test_a_filter_keeps_the_way_to_what_it_finds() -> None:
    tree = Tree(PLAIN, KEYS, files(), folded=["src"])
    tree.set_filter("x.py")
    assert shown(tree) == [
        "Filter: x.py",
        "  ▾ src",
        "  └─▾ tui",
        "❯   └─x.py ✓",
        "  ▾ tests",
        "  └─test_x.py",
    ]
    press(tree, "ctrl+u")
    assert shown(tree)[1:] == ["❯ ▸ src", "  ▾ tests", "  └─test_x.py"]
    tree.set_filter("nobody")
    assert shown(tree) == ["Filter: nobody", "Nothing matches nobody."]
    press(tree, "down", "enter", "left", "right")
    assert at(tree) is None


def test_new_data_keeps_selection_and_folds() -> None:
    tree = Tree(PLAIN, KEYS, files())
    tree.fold("tests")
    assert tree.select("x")
    tree.set_nodes([TreeNode("new", "new"), *files()])
    assert at(tree) == "x"
    assert shown(tree)[-1] == "  ▸ tests"
    without_x = [files()[0]._replace(children=[TreeNode("tui", "tui"), TreeNode("z", "z.py")]), files()[1]]
    tree.set_nodes(without_x)
    assert at(tree) == "tui"
    tree.set_nodes([TreeNode("other", "other")])
    assert at(tree) == "other"
    tree.set_nodes([])
    assert shown(tree)[-1] == "The tree is empty."


def test_a_node_in_a_folded_branch_can_be_gone_to() -> None:
    tree = Tree(PLAIN, KEYS, files(), folded=["src", "tui"])
    assert tree.select("x")
    assert at(tree) == "x"
    assert not tree.select("nobody")


def test_a_chain_can_be_flat_and_branches_still_show() -> None:
    root = TreeNode("r", "start", [TreeNode("a", "first", [chain(2, "p")]), TreeNode("b", "second")])
    tree = Tree(PLAIN, KEYS, [root], filterable=False, flat_chains=True)
    assert shown(tree) == [
        "❯ ▾ start",
        "  ├─first",
        "  │ p 1",
        "  │ p 2",
        "  └─second",
    ]


def test_thousands_of_levels_are_no_problem_and_only_the_view_is_drawn() -> None:
    tree = Tree(PLAIN, KEYS, [chain(5_000)], 5)
    press(tree, "end")
    rows = shown(tree)
    assert len(rows) == 7
    assert rows[-2].endswith("n 5000")
    assert rows[-1] == "↑  5000/5000"
    tree.set_filter("4999")
    assert shown(tree)[-2].endswith("n 4999")


def test_an_unchanged_tree_gives_the_same_rows() -> None:
    tree = Tree(PLAIN, KEYS, files())
    rows = tree.render(40)
    assert tree.render(40) is rows
    press(tree, "down")
    assert tree.render(40) is not rows


def test_a_screen_reader_hears_level_and_state() -> None:
    tree = Tree(Theme({}, linear=True), KEYS, files(), filterable=False, folded=["tests"])
    assert list(tree.render(80)) == [
        "Selected: level 1: src (2 below)",
        "level 2: tui (1 below)",
        "level 3: x.py (current)",
        "level 2: z.py (3 kB)",
        "level 1: tests (folded, 1 below)",
    ]


@pytest.mark.parametrize("width", [1, 2, 3, 6, 11, 80])
def test_rows_never_exceed_the_width(width: int) -> None:
    nodes = [*files(), TreeNode("w", "漢字\x1b[2J 👩‍👩‍👧", [chain(30)], note="\x07note")]
    tree = Tree(Theme(DARK_TOKENS), KEYS, nodes, 50)
    for _ in range(12):
        rows = tree.render(width)
        assert all(visible_width(row) <= width for row in rows)
        assert "\x07" not in "".join(rows)
        press(tree, "down")
