"""A session with a bit of everything: branches, tools, diffs, images, summaries, failures."""

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from tau.ai.wire import (
    AssistantMessage,
    BashExecutionMessage,
    Cost,
    ImageContent,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.coding.cost_report.request_costs import UsageRow
from tau.coding.cost_report.summary import UsageSummary, summarize
from tau.coding.session import entries as s
from tau.coding.session.storage.log import SessionLog

TIME = 1_790_000_000_000
DIFF = """\
--- a/src/shop/cart.py
+++ b/src/shop/cart.py
@@ -12,7 +12,9 @@ class Cart:
     def total(self) -> Decimal:
-        return sum(item.price for item in self.items)
+        # Decimal(0) keeps an empty cart a Decimal.
+        prices = (item.price * item.count for item in self.items)
+        return sum(prices, Decimal(0))
@@ -31,3 +33,3 @@ class Cart:
     def clear(self) -> None:
         self.items.clear()
"""
ANSWER = """\
The total ignored `count`, and an empty cart gave the integer `0`. Both are fixed:

```python
def total(self) -> Decimal:
    # Decimal(0) keeps an empty cart a Decimal.
    prices = (item.price * item.count for item in self.items)
    return sum(prices, Decimal(0))
```

| case | before | after |
|---|---:|---:|
| two of 4.50 | 4.50 | 9.00 |
| empty | `0` | `Decimal("0")` |

All **41 tests** pass. Next I would look at *rounding*: see the [notes](https://example.com/money).
"""


def picture(width: int = 240, height: int = 80) -> ImageContent:
    """A PNG of some soft stripes."""
    rows = b"".join(
        b"\0" + b"".join(bytes(((x + y) % 256, 150 + (x * y) % 60, 190)) for x in range(width))
        for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    png = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    return ImageContent(base64.b64encode(png).decode(), "image/png")


def answer(
    *parts: Any, stop: StopReason = "stop", model: str = "claude-sonnet-5", **fields: Any
) -> AssistantMessage:
    cost = Cost(0.0036, 0.0093, 0.0056, 0.0018, total=0.0203)
    usage = fields.pop("usage", Usage(1_204, 622, 18_730, 480, cost))
    content = [TextContent(part) if isinstance(part, str) else part for part in parts]
    return AssistantMessage(content, "anthropic-messages", "anthropic", model, usage, stop, TIME, **fields)


def result(
    call: str, tool: str, text: str, *, is_error: bool = False, details: Any = None
) -> ToolResultMessage:
    extra = {} if details is None else {"details": details}
    return ToolResultMessage(call, tool, [TextContent(text)], is_error, TIME, **extra)


def sample_session(folder: Path | None) -> SessionLog:
    log = SessionLog.new(folder, Path("/home/ana/shop"), title="Make the cart count")
    log.append(s.ModelChange(provider="anthropic", model_id="claude-sonnet-5"))
    log.append_message(
        UserMessage(
            "The cart's total is wrong when I buy two of a thing.\nPlease find out why, and fix it.", TIME
        )
    )
    thinking = (
        "The total sums `price` only. I should look at `cart.py`, then at its tests before I touch anything."
    )
    log.append_message(
        answer(
            ThinkingContent(thinking),
            "I will look at the cart and run its tests.",
            ToolCall("c1", "read", {"path": "src/shop/cart.py:1-18"}),
            ToolCall("c2", "bash", {"command": "python -m pytest tests/test_cart.py -q", "timeout": 60}),
            stop="toolUse",
        )
    )
    lines = (
        "1:from decimal import Decimal",
        "3:class Cart:",
        '4:    """What a customer wants."""',
        "12:    def total(self):",
        "13:        return sum(item.price for item in self.items)",
    )
    code = "\n".join(lines)
    log.append_message(result("c1", "read", f"¶src/shop/cart.py#A1B2\n{code}"))
    log.append_message(
        result("c2", "bash", "F.......  1 failed, 40 passed in 0.31s\n[exit code 1]", is_error=True)
    )
    log.append_message(answer(ToolCall("c3", "edit", {"input": DIFF}), stop="toolUse"))
    details = {"path": "src/shop/cart.py", "op": "update", "diff": DIFF, "added": 3, "removed": 1}
    log.append_message(result("c3", "edit", "Updated src/shop/cart.py (+3 −1).", details=details))
    fork = log.append_message(answer(ANSWER))
    log.append(s.LabelEntry(target_id=fork, label="fixed"))
    log.append_message(UserMessage("Now round to cents with bankers' rounding.", TIME))
    log.append_message(answer("The total is rounded with `ROUND_HALF_EVEN` now.", model="claude-haiku-5"))
    log.append_message(answer(stop="error", error_message="The server is overloaded (529)."))
    log.move(fork)
    log.append(s.BranchSummaryEntry(from_id=fork, summary="Rounding to cents was tried, and *left* again."))
    log.append_message(
        UserMessage([TextContent("Leave the rounding to the till. Here is what it prints:"), picture()], TIME)
    )
    log.append_message(
        BashExecutionMessage("git diff --stat", " src/shop/cart.py | 4 +++-", 0, False, False, TIME)
    )
    log.append_message(answer("The till rounds already, so `Cart.total` stays exact. A test says so now."))
    log.append(s.UsageEntry(kind="title", provider="anthropic", model="claude-haiku-5", usage=Usage(310, 9)))
    return log


def sample_usage() -> UsageSummary:
    models = (("anthropic", "claude-sonnet-5"), ("openai", "gpt-6"), ("anthropic", "claude-haiku-5"))
    rows = []
    for day in range(30):
        for number, (provider, model) in enumerate(models):
            amount = (day * 7919 + number * 104_729) % 23
            if amount < 6 or (day % 7 in (2, 3) and number):
                continue
            usage = Usage(
                amount * 2_100,
                amount * 900,
                amount * 31_000,
                amount * 2_300,
                Cost(
                    0.01 * amount, 0.04 * amount, 0.02 * amount, 0.01 * amount, 0.08 * amount / (number + 1)
                ),
            )
            folder = ("/home/ana/shop", "/home/ana/notes", "/home/ana/dotfiles")[(day + number) % 3]
            rows.append(
                UsageRow(
                    TIME - day * 86_400_000, f"s{day}-{number}", folder, provider, model, "answer", usage
                )
            )
    return summarize(rows, TIME, 30)
