"""The frame of every exported page: one file that loads nothing and runs only its own script."""

import base64
import hashlib
from html import escape
from pathlib import Path

from tau.ai.wire import Usage
from tau.coding.session.stats import cache_hit_rate, counts

MARK = '<meta name="generator" content="tau">'  # marks pages that we may overwrite


def data_file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def page_start(title: str, *, style: str = "", script: str = "") -> str:
    """Everything before the body. The policy allows only this style and script, none from the content."""
    style = data_file("page.css") + style
    scripts = _hash(script) if script else "'none'"
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; "
        f"script-src {scripts}; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'{MARK}\n<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )


def page_end(*, script: str = "") -> str:
    return f"<script>{script}</script>\n</body>\n</html>\n" if script else "</body>\n</html>\n"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def fact(name: str, value: str, more: str = "") -> str:
    small = f"<small>{escape(more)}</small>" if more else ""
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{small}</dd></div>"


def tokens_text(count: int) -> str:
    """`812`, `12.3k`, `4.5M`."""
    for unit, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{letter}" if count < 999.5 * unit else f"{count / unit:.0f}{letter}"
    return str(count)


def money_text(dollars: float) -> str:
    """Dollars, with enough decimals to be nonzero."""
    if dollars <= 0:
        return "$0"
    return (
        f"${dollars:,.2f}"
        if dollars >= 0.995
        else f"${dollars:.3f}"
        if dollars >= 0.0095
        else f"${dollars:.2g}"
    )


def percent_text(share: float) -> str:
    return f"{share * 100:.0f}%"


USAGE_HEAD = ("requests", "input", "cache read", "cache write", "output", "cache hits", "cost")


def usage_cells(requests: int, usage: Usage) -> list[str]:
    tokens = counts(usage)
    return [
        f"{requests:,}",
        *(
            tokens_text(count)
            for count in (tokens.input, tokens.cache_read, tokens.cache_write, tokens.output)
        ),
        percent_text(cache_hit_rate(usage)),
        money_text(usage.cost.total),
    ]


def usage_table(title: str, rows: list[tuple[str, int, Usage]]) -> str:
    """One row per name, figures aligned right."""
    head = "".join(f'<th class="right">{name}</th>' for name in USAGE_HEAD)
    body = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(f'<td class="right">{cell}</td>' for cell in usage_cells(requests, usage))
        + "</tr>"
        for name, requests, usage in rows
    )
    return f'<div class="wide"><table><tr><th>{escape(title)}</th>{head}</tr>{body}</table></div>'
