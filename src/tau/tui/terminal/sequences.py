"""Escape sequences for controlling and querying the terminal."""

CURSOR_SHOW = "\x1b[?25h"
CURSOR_HIDE = "\x1b[?25l"
AUTOWRAP_ON = "\x1b[?7h"
AUTOWRAP_OFF = "\x1b[?7l"
SYNC_BEGIN = "\x1b[?2026h"
SYNC_END = "\x1b[?2026l"
STYLES_RESET = "\x1b[0m"
LINK_END = "\x1b]8;;\x1b\\"
PROMPT_MARK = "\x1b]133;A\x1b\\"
OUTPUT_MARK = "\x1b]133;C\x1b\\"

ALTERNATE_ON = "\x1b[?1049h"
ALTERNATE_OFF = "\x1b[H\x1b[J\x1b[?1049l"  # tmux would keep rows that no longer fit
PASTE_ON = "\x1b[?2004h"
PASTE_OFF = "\x1b[?2004l"
FOCUS_ON = "\x1b[?1004h"
FOCUS_OFF = "\x1b[?1004l"
RESIZE_REPORTS_ON = "\x1b[?2048h"
RESIZE_REPORTS_OFF = "\x1b[?2048l"
SCHEME_REPORTS_ON = "\x1b[?2031h"
SCHEME_REPORTS_OFF = "\x1b[?2031l"

# Kitty keyboard protocol flags: unambiguous keys (1), releases and repeats (2), alternate layout keys (4).
KITTY_KEYS_ON = "\x1b[>7u"
KITTY_KEYS_OFF = "\x1b[<u"
OTHER_KEYS_ON = "\x1b[>4;2m"
OTHER_KEYS_OFF = "\x1b[>4;0m"

TITLE_SAVE = "\x1b[22;0t"
TITLE_RESTORE = "\x1b[23;0t"
BELOW_CLEAR = "\r\n\x1b[J"

ASK_ATTRIBUTES = "\x1b[c"
ASK_KITTY_KEYS = "\x1b[?u"
ASK_BACKGROUND = "\x1b]11;?\x1b\\"
ASK_NOTIFICATIONS = "\x1b]99;i=tau:p=?;\x1b\\"
ASK_CELL_SIZE = "\x1b[16t"
ASK_VERSION = "\x1b[>q"
ASK_MODEL = "\x1b[>c"
ASK_CURSOR = "\x1b[?6n"


def ask_mode(mode: int) -> str:
    """Return the DECRQM query for a private mode."""
    return f"\x1b[?{mode}$p"


def title(text: str) -> str:
    """Return the sequence that sets the window title, without control characters, cut if too long."""
    return f"\x1b]0;{printable(text, 200)}\x1b\\"


def printable(text: str, max_chars: int) -> str:
    """Return the text as one line that cannot end the sequence around it."""
    return "".join(char if char.isprintable() else " " for char in text[:max_chars])
