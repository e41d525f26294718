"""Profiles tau for a few seconds."""

import asyncio
import cProfile
import pstats
from io import StringIO

MAX_ROWS = 60


async def measured(seconds: float) -> str:
    """What ran in this time, most expensive first."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        await asyncio.sleep(seconds)
    finally:
        profile.disable()
    text = StringIO()
    stats = pstats.Stats(profile, stream=text)
    for order in ("cumulative", "tottime"):
        stats.sort_stats(order).print_stats(MAX_ROWS)
    return text.getvalue()
