"""Image bookkeeping, and the cursor position after an image."""

import base64
import struct

from tests.support.terminal.virtual import Answers, VirtualTerminal

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 90, 54) + b"\x08\x06\x00\x00\x00" + b"x" * 40
).decode()


def kitty(fields: str, payload: str = "") -> str:
    return f"\x1b_G{fields};{payload}\x1b\\"


def test_pixels_come_in_chunks_and_are_placed_many_times() -> None:
    terminal = VirtualTerminal(20, 8)
    third = len(PNG) // 3
    terminal.write(kitty("a=t,f=100,i=5,m=1", PNG[:third]) + kitty("m=1", PNG[third : 2 * third]))
    assert terminal.images.transmitted == {}
    terminal.write(kitty("m=0", PNG[2 * third :]))
    image = terminal.images.transmitted[5]
    assert (image.width, image.height, image.data) == (90, 54, PNG)
    terminal.write(kitty("a=p,i=5,p=1,c=4,r=2,C=1") + "\x1b[4;3H" + kitty("a=p,i=5,p=2"))
    places = [(at.row, at.column, at.columns, at.rows) for at in terminal.images.placements.values()]
    assert places == [(0, 0, 4, 2), (3, 2, 10, 3)]
    assert terminal.images.transmissions == [5]
    assert terminal.replies == ["\x1b_Gi=5;OK\x1b\\", "\x1b_Gi=5,p=1;OK\x1b\\", "\x1b_Gi=5,p=2;OK\x1b\\"]


def test_cursor_moves_behind_the_image_unless_told_to_stay() -> None:
    terminal = VirtualTerminal(20, 4)
    terminal.write(kitty("a=T,f=24,s=1,v=1,i=1,c=4,r=2,q=2", "AAAA"))
    assert terminal.cursor == (1, 4)
    terminal.write("\x1b[H" + kitty("a=p,i=1,c=4,r=2,C=1,q=2"))
    assert terminal.cursor == (0, 0)
    assert terminal.replies == []


def test_image_at_the_bottom_scrolls_the_screen() -> None:
    terminal = VirtualTerminal(20, 4)
    terminal.write("one\r\ntwo\r\nthree\r\n" + kitty("a=T,f=24,s=1,v=1,i=1,c=4,r=3,q=2", "AAAA"))
    assert terminal.scrollback() == ["one", "two"]
    assert terminal.cursor == (3, 4)
    assert next(iter(terminal.images.placements.values())).row == 3


def test_unsent_image_cannot_be_placed() -> None:
    terminal = VirtualTerminal(20, 4)
    terminal.write(kitty("a=p,i=9"))
    assert terminal.replies == ["\x1b_Gi=9;ENOENT:there is no such image\x1b\\"]
    assert terminal.images.placements == {}


def test_uppercase_deletions_free_the_pixels() -> None:
    terminal = VirtualTerminal(20, 4)
    for number in (1, 2, 3):
        terminal.write(kitty(f"a=T,f=24,s=1,v=1,i={number},p=1,c=1,r=1,q=2", "AAAA"))
    terminal.write(kitty("a=d,d=i,i=1"))
    assert [at.image for at in terminal.images.placements.values()] == [2, 3]
    assert set(terminal.images.transmitted) == {1, 2, 3}
    terminal.write(kitty("a=d,d=I,i=2") + kitty("a=d,d=I,i=1"))
    assert terminal.images.deleted == [2, 1]
    terminal.write(kitty("a=d,d=A"))
    assert terminal.images.placements == {}
    assert terminal.images.deleted == [2, 1, 3]


def test_deletions_by_number_and_by_range() -> None:
    terminal = VirtualTerminal(20, 4)
    for number in (1, 2, 3):
        terminal.write(kitty(f"a=T,f=24,s=1,v=1,i={number},I={number * 10},c=1,r=1,q=2", "AAAA"))
    terminal.write(kitty("a=d,d=N,I=20") + kitty("a=d,d=R,x=3,y=9"))
    assert terminal.images.deleted == [2, 3]
    assert set(terminal.images.transmitted) == {1}


def test_clearing_the_screen_clears_its_images_but_not_those_of_the_history() -> None:
    terminal = VirtualTerminal(20, 3)
    terminal.write(kitty("a=T,f=24,s=1,v=1,i=1,p=1,c=1,r=1,q=2", "AAAA") + "\r\n" * 5)
    terminal.write(kitty("a=p,i=1,p=2,c=1,r=1,q=2") + "\x1b[2J")
    assert [at.placement for at in terminal.images.placements.values()] == [1]


def test_placeholders_name_the_image_they_show() -> None:
    terminal = VirtualTerminal(20, 4)
    terminal.write(kitty("a=T,U=1,f=24,s=1,v=1,i=42,c=2,r=1,q=2", "AAAA"))
    terminal.write("a\x1b[38;5;42m\U0010eeee\u0305\u0305\U0010eeee\u0305\u030d\x1b[39mb")
    assert terminal.placeholders() == [(0, 1, 42), (0, 2, 42)]
    assert terminal.cursor == (0, 4)
    assert next(iter(terminal.images.placements.values())).virtual


def test_graphics_query_is_answered_only_if_supported() -> None:
    question = kitty("a=q,i=31,s=1,v=1,f=24", "AAAA")
    for able in (True, False):
        terminal = VirtualTerminal(answers=Answers(kitty_graphics=able))
        terminal.write(question)
        assert terminal.replies == (["\x1b_Gi=31;OK\x1b\\"] if able else [])
        assert terminal.images.transmitted == {}


def test_iterm_files_take_their_rows() -> None:
    terminal = VirtualTerminal(20, 8)
    terminal.write(f"\x1b]1337;File=inline=1;width=6;height=3:{PNG}\x07")
    assert terminal.cursor == (2, 6)
    terminal.write(f"\r\n\x1b]1337;File=inline=1;doNotMoveCursor=1:{PNG}\x07\x1b]1337;File=name=x:{PNG}\x07")
    assert [(at.row, at.columns, at.rows) for at in terminal.images.inline] == [(0, 6, 3), (3, 10, 3)]
    assert terminal.cursor == (3, 0)


def test_sixels_take_the_rows_they_declare_or_draw() -> None:
    terminal = VirtualTerminal(20, 8)
    terminal.write('ab\x1bPq"1;1;18;40#0;2;0;0;0~-~\x1b\\')
    terminal.write("\r\n\x1bP0;1q#0!10~$#1~~-!20~-~\x1b\\")
    assert [(at.protocol, at.row, at.columns, at.rows) for at in terminal.images.inline] == [
        ("sixel", 0, 2, 3),
        ("sixel", 3, 3, 1),
    ]
    assert terminal.cursor == (3, 0)
