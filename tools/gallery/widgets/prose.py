"""Specimens of Markdown, complete and streaming, and of diffs."""

from tau.tui.component import Component
from tau.tui.widgets.diff import DiffView
from tau.tui.widgets.markdown import Markdown
from tools.gallery.widgets.specimen import Bench, Specimen

PROSE = """# Soup, and how to make it

A soup needs **water**, *time* and `salt`. More is in [the book](https://example.org/soup) or ~~nowhere~~.

> Do not stir too much.
> It makes no difference.

1. Wash the leeks.
2. Cut them:
   - into rings,
   - not too thin.

- [x] bought leeks
- [ ] bought cream

---
"""
CODE = '''Before the code.

```python
@cache
def portions(guests: int, hungry: bool = False) -> float:
    """How much soup is needed."""
    return guests * (1.5 if hungry else 1.0)  # litres
```

After it.
'''
TABLE = """| Vegetable | Season | Price in 漢字 |
|:----------|:------:|-------------:|
| Leek | winter | 2.50 |
| Pumpkin, which has a very long name in this table | autumn | 3.00 |
| 大根 | all year | 1 |
"""
OLD = """def portions(guests):
    litres = guests * 1.5
    return litres


def serve(guests):
    print("Soup for", guests)
"""
NEW = """def portions(guests, hungry):
    litres = guests * (2 if hungry else 1.5)
    return round(litres)


def serve(guests):
    print("Soup for", guests)
    print("大根 too")
"""


def _arriving(bench: Bench) -> Component:
    markdown = Markdown(bench.theme)
    for piece in ("A list that is being written:\n\n- the first\n- the sec", "ond, with **bold tex"):
        markdown.append(piece)
    return markdown


def _half_fence(bench: Bench) -> Component:
    markdown = Markdown(bench.theme)
    markdown.append("Code that is being written:\n\n```python\nfor leek in garden:\n    cu")
    return markdown


SPECIMENS = [
    Specimen("markdown/prose", "Headings, lists, quotes, links.", lambda b: Markdown(b.theme, PROSE)),
    Specimen("markdown/code", "A block of code in colours.", lambda b: Markdown(b.theme, CODE)),
    Specimen("markdown/table", "A table with wide characters.", lambda b: Markdown(b.theme, TABLE)),
    Specimen("markdown/arriving", "Half a sentence.", _arriving),
    Specimen("markdown/half-fence", "Half a block of code.", _half_fence),
    Specimen("diff/words", "The words that changed.", lambda b: DiffView(b.theme, OLD, NEW)),
    Specimen("diff/short", "Cut after some rows.", lambda b: DiffView(b.theme, OLD, NEW, max_rows=4)),
]
