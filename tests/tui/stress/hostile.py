"""Text that tries to take over a terminal: all controls, all kinds of sequences, broken encodings."""

from random import Random

from tau.tui.component import CURSOR_MARKER

_BYTES = (
    b"\xc0\x9b[2J",  # overlong
    b"\xe0\x80\x9b[2J",
    b"\xf0\x80\x80\x9b[2J",
    b"\xc1\x9b\xc0\x80",
    b"\x9b2J\x9d0;title\x9c",  # C1 as single bytes
    b"\xff\xfe\xfd",
    b"\xed\xa0\x80\xed\xb0\x80",  # surrogates in UTF-8
    b"\xf4\x90\x80\x80",
    b"abc\xe2\x82",
)
_SEQUENCES = (
    *("\x1b[2J", "\x1b[3J", "\x1b[H", "\x1b[999;999H", "\x1b[?1049h", "\x1b[?25l", "\x1b[?7l", "\x1b[?2026h"),
    *(
        "\x1b[6n",
        "\x1b[c",
        "\x1b[>c",
        "\x1b[?u",
        "\x1b[>31u",
        "\x1b[21t",
        "\x1b[8;1;1t",
        "\x1b[!p",
        "\x1b[5 q",
    ),
    *(
        "\x1b[38;5;",
        "\x1b[",
        "\x1b[31",
        "\x1b[31;",
        "\x1b[" + "1;" * 400 + "m",
        "\x1b[\x1b[2J",
        "\x1b[2\x18J",
    ),
    *("\x1b[4:3m", "\x1b[38:2::1:2:3m", "\x1b[8mhidden", "\x1b[5mblink", "\x1b[10S", "\x1b[10T", "\x1b[2;3r"),
    *(
        "\x1bc",
        "\x1b7",
        "\x1b8",
        "\x1bD",
        "\x1bM",
        "\x1bE",
        "\x1bH",
        "\x1b(0",
        "\x1b#8",
        "\x1b=",
        "\x1b>",
        "\x1b%G",
    ),
    *("\x1b]0;owned\x07", "\x1b]0;owned\x1b\\", "\x1b]2;owned\x9c", "\x9d0;owned\x9c", "\x1b]0;never ended"),
    *("\x1b]52;c;b3duZWQ=\x07", "\x1b]52;c;b3duZWQ=\x1b\\", "\x1b]9;note\x07", "\x1b]777;notify;a;b\x07"),
    *("\x1b]99;i=1;note\x1b\\", "\x1b]1337;File=inline=1:AAAA\x07", "\x1b]11;?\x07", "\x1b]4;1;red\x07"),
    *("\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07", "\x1b]8;;https://a.example/\x1b\\x", "\x1b]133;A\x07"),
    *("\x1bPq#0;2;0;0;0~\x1b\\", "\x1bP$q\x22p\x1b\\", "\x90q\x9c", "\x1bP+q544e\x1b\\", "\x1bPnever ended"),
    *("\x1b_Ga=T,f=24,s=1,v=1;AAAA\x1b\\", "\x9fGa=T;AAAA\x9c", "\x1b_never ended", "\x1b_Ga=d,d=A\x1b\\"),
    *("\x1b^privacy\x1b\\", "\x1bXstring\x1b\\", "\x9eprivacy\x9c", "\x98string\x9c", CURSOR_MARKER),
    *("\x1b\x1b[2J", "\x1b\n[2J", "\x1b]0;a\x1b]0;b\x07", "\x1b[200~pasted\x1b[201~", "\x1b[27;5;65~"),
)
_UNICODE = (
    *("\u202eright to left", "\u2066isolated", "\u200bzero\ufeffwidth", "a\u2028b\u2029c", "\u0085next line"),
    *(
        "e" + "\u0301" * 300,
        "\u200d" * 50,
        "👩\u200d" * 40,
        "\ufe0f\ufe0f",
        "\U000e0041\U000e0042tags",
        "\U0010ffff",
    ),
    *("\ufdd0\ufffe\uffff", "\ue000private", "\ud800lone", "\udc9b2J", "\u115f\u3164filler", "\u0300first"),
)
_MARKDOWN = (
    "[x](https://a.example/\x1b]0;owned\x07)",
    "[x](javascript:alert(1))",
    "[x](<https://a.example/\u0007>)",
    "![\x1b[2J](https://a.example/\x9b2J)",
    "```\x1b[2J\n\x1b]0;owned\x07\n```",
    "`\x1b[2J`",
    "&#27;[2J &#x9b;2J &#7; &#155;",
    "<b>\x1b[2J</b>",
    "| a\x1b[2J | b |\n|---|---|\n| \x9b2J | \x07 |",
    "- [ ] \x1b[2J\n> \x1b]0;owned\x07\n# \x9b2J",
    "[x]: https://a.example/%1b]0;owned%07\n\n[x]",
)


def corpus() -> list[str]:
    """Every attack, each between letters that must stay readable."""
    controls = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
    escapes = ["\x1b" + chr(code) for code in range(0x20, 0x7F)]
    decoded = [data.decode("utf-8", errors) for data in _BYTES for errors in ("replace", "surrogateescape")]
    latin = [
        bytes(range(0x80, 0x100)).decode("latin-1"),
        bytes(range(256)).decode("utf-8", "surrogateescape"),
    ]
    tricks = [*controls, *escapes, *_SEQUENCES, *decoded, *latin, *_UNICODE, *_MARKDOWN]
    return [f"A{trick}Z" for trick in tricks]


def fuzz(seed: int, count: int) -> list[str]:
    """Random pieces of attacks, in random order, cut anywhere."""
    random = Random(seed)
    pieces = [
        *corpus(),
        "\x1b",
        "\x9b",
        "\x9d",
        "\x1b\\",
        "\x07",
        ";",
        "0;",
        "[",
        "]",
        "漢",
        "\n",
        "\t",
        "word ",
        "m",
        "J",
    ]
    found = []
    for _ in range(count):
        text = "".join(random.choice(pieces) for _ in range(random.randint(1, 8)))
        start = random.randrange(len(text))
        found.append(text[start : start + random.randint(1, 200)])
    return found
