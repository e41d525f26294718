"""What is in tau's memory: objects by type, after a garbage collection."""

import gc
import resource
import sys
from collections import Counter

from tau.base.sizes import KIB, format_bytes

MAX_TYPES = 60


def memory_text() -> str:
    """Blocks for a moment: call it in a thread."""
    collected = gc.collect()
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for each in gc.get_objects():
        name = f"{type(each).__module__}.{type(each).__qualname__}"
        counts[name] += 1
        sizes[name] += sys.getsizeof(each, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else KIB)
    rows = [
        f"{format_bytes(size):>12} {counts[name]:>9,}  {name}" for name, size in sizes.most_common(MAX_TYPES)
    ]
    head = f"Peak memory {format_bytes(peak)}; {sum(counts.values()):,} objects; {collected:,} were garbage."
    return "\n".join((head, "", *rows, ""))
