"""The limit on stored pictures."""

from tau.tui.images.budget import ImageBudget


class Fake:
    def __init__(self) -> None:
        self.demoted = False

    def demote(self) -> None:
        self.demoted = True


def test_oldest_picture_makes_room() -> None:
    asked: list[bool] = []
    budget = ImageBudget(2, on_demote=lambda: asked.append(True))
    pictures = [Fake(), Fake(), Fake()]
    assert [budget.admit(picture) for picture in pictures] == [True, True, True]
    assert [picture.demoted for picture in pictures] == [True, False, False]
    assert asked == [True]
    assert budget.admit(pictures[2])
    assert budget.live == 2
    budget.release(pictures[2])
    assert budget.live == 1
    assert not ImageBudget(0).admit(Fake())
