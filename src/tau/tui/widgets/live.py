"""The base of what a person works with: its rows change all the time and never belong to the history."""

from tau.tui.component import CommitBoundary, Component


class LiveComponent(Component):
    """A component none of whose rows is ever final."""

    def seam(self) -> CommitBoundary:
        return CommitBoundary(0)
