"""Navigation in a session's tree: rows, labels, and continuing from another entry.

A move changes the leaf in memory and writes nothing, unless the branch being left gets a summary. The next
entry, which names its parent, puts the new place on disk. After a move without an entry, a restart opens the
session where it was last written to; nothing is lost.
"""

from collections.abc import Callable

from msgspec import UNSET, Struct

from tau.agent.abort import Abort, Aborted
from tau.agent.hooks import Hooks
from tau.agent.loop_owner import Complete
from tau.ai.model import Model
from tau.ai.wire import ImageContent, UserContent, UserMessage, text_of
from tau.base.errors import SessionError
from tau.base.late import late
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.snippets import one_line
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.tree_rows import LABEL_CHARS, SessionTree, TreeFilter, TreeRow, labels_of
from tau.config.settings import BranchSummarySettings

branch_summary = late("tau.coding.session.branch_summary")
file_ops = late("tau.coding.session.compaction.file_ops")


ROOT = "root"  # the id that a summary uses for the place before the first entry

# Notes about the whole session: an entry of these types does not change the position.
_NOTES = frozenset({"label", "session_info", "usage"})


class Move(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a move. If it was `cancelled`, by a hook or by the user, nothing has moved.

    `editor_text` and `images` are to be edited and sent again; `leaf` is the session's leaf now.
    """

    old_leaf: str | None
    leaf: str | None
    editor_text: str | None = None
    images: list[ImageContent] = []
    summary_id: str | None = None
    cancelled: bool = False
    aborted: bool = False
    already_there: bool = False


class BranchPoint(Struct, frozen=True, rename="camel"):
    """A user message from which a branch can start."""

    entry_id: str
    text: str
    image_count: int = 0


class TreeNavigator(Struct):
    """`model` returns the model that summarizes; `moved` is called after every move."""

    log: SessionLog
    hooks: Hooks
    complete: Complete
    model: Callable[[], Model]
    settings: BranchSummarySettings = BranchSummarySettings()
    moved: Callable[[Move], None] | None = None
    _tree: SessionTree | None = None

    @property
    def labels(self) -> dict[str, str]:
        """The label of every entry that has one."""
        return labels_of(self.log)

    def rows(self, filter: TreeFilter = "default", query: str = "") -> list[TreeRow]:
        """The visible rows from top to bottom; `tree_rows.draw_row` and `tree_rows.prefix` draw them."""
        self._tree = self._tree or SessionTree(self.log)
        return self._tree.rows(filter, query)

    def branch_points(self) -> list[BranchPoint]:
        """The user's messages on all branches, in the order they were sent."""
        points = []
        for node in self.log.nodes():
            if node.type == "message" and (editable := _to_edit(s.decode_known(self.log.line(node)))):
                text, images = editable
                if text.strip() or images:
                    points.append(BranchPoint(node.id, text, len(images)))
        return points

    def to_edit(self, target: str) -> tuple[str, list[ImageContent]]:
        """The text and images of an entry to edit and send again; empty if it is not a message."""
        return _to_edit(self.log.decode(self._node(target))) or ("", [])

    def label(self, target: str, text: str | None) -> str | None:
        """Set the label of an entry; None or an empty text removes it. Returns the new label."""
        self._node(target)
        label = one_line(text or "", LABEL_CHARS)
        if label != self.labels.get(target, ""):
            self.log.append(s.LabelEntry(target_id=target, label=label or UNSET))
        return label or None

    async def goto(
        self,
        target: str,
        *,
        summarize: bool = False,
        instructions: str | None = None,
        abort: Abort | None = None,
    ) -> Move:
        """Continue from `target`, or from the entry before it if it is a message to be edited.

        With `summarize`, add a summary of the branch being left, if there is anything to summarize. Raises if
        the model fails; an abort is reported in the result. Neither moves anything.
        """
        node = self._node(target)
        old = self.log.leaf
        if self.is_at(target):
            return Move(old_leaf=old, leaf=old, already_there=True)
        editing = _to_edit(self.log.decode(node))
        summary = None
        try:
            async with (abort or Abort()).scope():
                if not await self.hooks.before_switch(target):
                    return Move(old_leaf=old, leaf=self.log.leaf, cancelled=True)
                if summarize:
                    summary = await self._summarize(target, instructions)
        except Aborted:
            return Move(old_leaf=old, leaf=self.log.leaf, cancelled=True, aborted=True)
        if abort is not None and abort.aborted:  # the abort came just after the summary was done
            return Move(old_leaf=old, leaf=self.log.leaf, cancelled=True, aborted=True)
        if not self.is_at(old):
            raise SessionError("The conversation continued meanwhile, so the session did not move.")
        summary_id = self._move(node.id if editing is None else node.parent_id, summary)
        text, images = editing or (None, [])
        move = Move(old_leaf=old, leaf=self.log.leaf, editor_text=text, images=images, summary_id=summary_id)
        if self.moved is not None:
            self.moved(move)
        await self.hooks.after_switch(old, self.log.leaf)
        return move

    def abandoned(self, target: str) -> list[EntryNode]:
        """The entries that a move to `target` leaves behind: from the common ancestor to the leaf."""
        kept = {node.id for node in self.log.branch(target)}
        return [node for node in self.log.branch() if node.id not in kept]

    async def _summarize(self, target: str, instructions: str | None) -> s.BranchSummaryEntry | None:
        left = self.abandoned(target)
        ids = {node.id for node in left}
        # The context omits what no model should see: content edited away or compacted.
        messages = [item.message for item in self.log.context().items if item.id in ids]
        if not messages:
            return None
        summary = await branch_summary.summarize_branch(
            self.complete,
            self.model(),
            branch_summary.Branch(
                messages=messages,
                cwd=self.log.header.cwd,
                before=[
                    file_ops.earlier_file_ops(entry.details)
                    for node in left
                    if node.type in ("compaction", "branch_summary")
                    and isinstance(entry := self.log.decode(node), s.CompactionEntry | s.BranchSummaryEntry)
                ],
            ),
            reserve_tokens=self.settings.reserve_tokens,
            instructions=instructions,
        )
        if summary is None:
            return None
        return s.BranchSummaryEntry(
            from_id=self.log.leaf or ROOT, summary=summary.text, details=summary.details, usage=summary.usage
        )

    def _move(self, leaf: str | None, summary: s.BranchSummaryEntry | None) -> str | None:
        """Move and write the summary there; if it cannot be written, move back."""
        old = self.log.leaf
        self.log.move(leaf)
        if summary is None:
            return None
        try:
            return self.log.append(summary)
        except BaseException:
            self.log.move(old)
            raise

    def _node(self, id: str) -> EntryNode:
        node = self.log.node(id)
        if node is None:
            raise SessionError(f'The session has no entry "{id}".')
        return node

    def is_at(self, id: str | None) -> bool:
        """Whether the session is at this entry, with nothing but notes after it."""
        place = self.log.leaf
        while place != id and place is not None:
            node = self.log.node(place)
            if node is None or node.type not in _NOTES:
                return False
            place = node.parent_id
        return place == id


def _to_edit(entry: s.KnownEntry | None) -> tuple[str, list[ImageContent]] | None:
    """Text and images of a message that can be edited and sent again; None for other entries."""
    content: str | list[UserContent]
    match entry:
        case s.MessageEntry(message=UserMessage(content=content)):
            pass
        case s.CustomMessageEntry(content=content):
            pass
        case _:
            return None
    if isinstance(content, str):
        return content, []
    return text_of(content), [part for part in content if isinstance(part, ImageContent)]
