"""Place the hunks of a patch by their lines, scopes and order, without guessing."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import ToolError
from tau.coding.edits.hunks import HunkPlacement, HunkRow, PatchHunk, match_note, splices_of
from tau.coding.edits.lines import (
    EXACT,
    LINE_ENDS,
    LOOKALIKE,
    MAX_PLACES,
    TRAILING_SPACE,
    TextLines,
    folded,
    line_numbers,
    visible,
)
from tau.coding.edits.not_found import nearest_lines
from tau.coding.edits.splices import Splice


class PatchResult(Struct, frozen=True):
    splices: list[Splice]
    notes: list[str]


class _Search(Struct):
    """Candidate placements of one hunk; `notes` list the mismatches that were tolerated."""

    places: list[HunkPlacement]
    notes: list[str]


def patched(text: str, hunks: Sequence[PatchHunk], name: str) -> PatchResult:
    """Compute the splices of the hunks. Raises ToolError naming the file, the hunk and the actual lines."""
    faithful = any("\r" in row.text for hunk in hunks for row in hunk.rows)
    lines = TextLines(text, faithful=faithful)
    searches = [_search(lines, hunk, name) for hunk in hunks]
    notes = _use_line_numbers(searches, len(lines))
    places, order_note = _in_order(searches, name)
    for place, search in zip(places, searches, strict=True):
        notes += search.notes
        notes += filter(None, [match_note(place)])
    return PatchResult(splices_of(lines, places), [*notes, *order_note])


def _search(lines: TextLines, hunk: PatchHunk, name: str) -> _Search:
    if not hunk.old:
        return _insertion(lines, hunk, name)
    for rows, tier in _attempts(hunk.rows):
        wanted = [row.text for row in rows if row.kind != "+"]
        places = [HunkPlacement(hunk, at, tier, rows) for at in lines.places(wanted, tier)]
        if not places:
            continue
        search = _within_scopes(lines, hunk, places)
        return _at_end(lines, hunk, search) if hunk.at_end else search
    raise ToolError(f"Hunk {hunk.number} does not fit {name}. {_mismatch_reason(lines, hunk)}")


def _attempts(rows: tuple[HunkRow, ...]) -> Iterator[tuple[tuple[HunkRow, ...], int]]:
    """Yield attempts from strict to loose; different line endings count as closer than dropped blank rows."""
    for tiers in ((EXACT, LINE_ENDS), (TRAILING_SPACE,), (LOOKALIKE,)):
        for variant in _variants(rows):
            yield from ((variant, tier) for tier in tiers)


def _variants(rows: tuple[HunkRow, ...]) -> Iterator[tuple[HunkRow, ...]]:
    """Yield the rows, then variants without blank rows at the ends, where patches often have too many."""
    yield rows
    first, last = _leading_blanks(rows), len(rows) - _leading_blanks(rows[::-1])
    for start, end in ((0, last), (first, len(rows)), (first, last)):
        if (start, end) != (0, len(rows)) and any(row.kind != "+" for row in rows[start:end]):
            yield rows[start:end]


def _insertion(lines: TextLines, hunk: PatchHunk, name: str) -> _Search:
    """Place a pure insertion by its line number or scope, else at the end of the file."""
    if hunk.scopes:
        starts = list(_scope_lines(lines, hunk.scopes))
        if not starts:
            raise ToolError(
                f"Hunk {hunk.number} does not fit {name}: no line says `{visible(hunk.scopes[-1])}`."
            )
        notes = [f"Hunk {hunk.number} has no old lines; its lines follow line {starts[0] + 1}."]
        return _Search([HunkPlacement(hunk, at + 1, 0, hunk.rows) for at in starts], notes)
    if hunk.line is None or hunk.at_end or not len(lines):
        notes = []
        if len(lines) and not hunk.at_end:
            notes = [f"Hunk {hunk.number} has no old lines; its lines were added at the end of the file."]
        return _Search([HunkPlacement(hunk, len(lines), 0, hunk.rows)], notes)
    if hunk.line > len(lines):
        raise ToolError(f"Hunk {hunk.number} does not fit {name}, which has {len(lines)} lines.")
    return _Search([HunkPlacement(hunk, hunk.line, 0, hunk.rows)], [])


def _at_end(lines: TextLines, hunk: PatchHunk, search: _Search) -> _Search:
    last = max((index + 1 for index, line in enumerate(lines.bodies) if line.strip()), default=0)
    places = [place for place in search.places if place.end >= last]
    if places:
        return _Search(places, search.notes)
    note = f"Hunk {hunk.number} is not at the end of the file, despite the patch."
    return _Search(search.places, [*search.notes, note])


def _within_scopes(lines: TextLines, hunk: PatchHunk, places: list[HunkPlacement]) -> _Search:
    """Restrict placements to those inside the scopes, else after them."""
    if not hunk.scopes:
        return _Search(places, [])
    starts = list(_scope_lines(lines, hunk.scopes))
    if not starts:
        return _Search(
            places, [f"Hunk {hunk.number}: no line says `{visible(hunk.scopes[-1])}`; found without it."]
        )
    inside: dict[int, HunkPlacement] = {}
    after: dict[int, HunkPlacement] = {}
    for start in starts:
        stop = _extent(lines.bodies, start)
        below = [place for place in places if place.end > start]
        inside |= {place.at: place for place in below if place.at < stop}
        after |= {place.at: place for place in below}
    chosen = inside or after or {place.at: place for place in places}
    notes = [] if inside or after else [f"Hunk {hunk.number} is above `{hunk.scopes[-1]}`, not below it."]
    return _Search([chosen[at] for at in sorted(chosen)], notes)


def _scope_lines(lines: TextLines, scopes: Sequence[str]) -> Iterator[int]:
    """Yield the lines that match the last scope, each nested in a match of the scope before it."""
    spans = [(-1, len(lines))]
    for scope in scopes:
        matching = _matching_lines(lines, scope)
        inner = [at for at in matching if any(start < at < stop for start, stop in spans)]
        inner = inner or [at for at in matching if any(start < at for start, _ in spans)]
        spans = [(at, _extent(lines.bodies, at)) for at in inner]
    yield from (at for at, _ in spans)


def _matching_lines(lines: TextLines, scope: str) -> list[int]:
    """Find lines equal to the scope, else equal except for indentation, else starting with it."""
    matching = lines.places([scope], LOOKALIKE)
    if not matching:
        wanted = folded(scope, LOOKALIKE).strip()
        stripped = [folded(line, LOOKALIKE).strip() for line in lines.bodies]
        matching = [index for index, line in enumerate(stripped) if line == wanted]
        if not matching and wanted:
            matching = [index for index, line in enumerate(stripped) if line.startswith(wanted)]
    return matching[:MAX_PLACES]


def _extent(bodies: Sequence[str], start: int) -> int:
    """Find the end of the block that a line opens: the next line that is not indented deeper."""
    depth = _depth(bodies[start])
    for index in range(start + 1, len(bodies)):
        line = bodies[index].strip()
        if line and _depth(bodies[index]) <= depth and line[0] not in "()[]{}":
            return index
    return len(bodies)


def _depth(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())


def _use_line_numbers(searches: list[_Search], last: int) -> list[str]:
    """Prefer the placement at the header's line number, shifted like the hunks before it."""
    shift, trusted = 0, True
    notes: list[str] = []
    for search in searches:
        hunk = search.places[0].hunk
        if hunk.line is None:
            continue
        if not hunk.old:
            place = search.places[0]
            if not hunk.at_end:
                search.places = [replace(place, at=min(max(place.at + shift, 0), last))]
            continue
        stated = hunk.line - 1
        # Blank rows dropped at the top shift the first line down.
        exact = [place for place in search.places if place.at - _dropped_rows(place) == stated + shift]
        if exact and trusted:
            search.places = exact
        if len(search.places) > 1:
            # The offset is unknown from here on: the next number may fit by chance.
            trusted = False
        else:
            place = search.places[0]
            moved = place.at - _dropped_rows(place) - stated
            if moved != shift:
                notes.append(_offset_note(place, moved))
            shift = moved
    return notes


def _offset_note(place: HunkPlacement, moved: int) -> str:
    lines = f"{abs(moved)} line{'s' if abs(moved) != 1 else ''}"
    where = f"{lines} {'below' if moved > 0 else 'above'} what" if moved else "as"
    return f"Hunk {place.hunk.number} was found at line {place.at + 1}, {where} its header says."


def _dropped_rows(place: HunkPlacement) -> int:
    """Count the blank rows at the top of the hunk that were dropped to place it."""
    rows = place.hunk.rows
    if len(rows) == len(place.rows) or rows[: len(place.rows)] == place.rows:
        return 0
    return len(rows) - len(place.rows) if rows[-len(place.rows) :] == place.rows else _leading_blanks(rows)


def _leading_blanks(rows: Sequence[HunkRow]) -> int:
    return next((index for index, row in enumerate(rows) if row.kind != " " or row.text.strip()), 0)


def _in_order(searches: list[_Search], name: str) -> tuple[list[HunkPlacement], list[str]]:
    """Return the only way to place all hunks in order, if there is exactly one."""
    for strict in (True, False):
        first = _first_fit(searches, strict=strict)
        if first is None:
            continue
        last = _last_fit(searches, strict=strict)
        for one, other, search in zip(first, last, searches, strict=True):
            if one.at != other.at:
                raise ToolError(_ambiguous(search, name))
        return first, []
    for search in searches:
        if len(search.places) > 1:
            raise ToolError(_ambiguous(search, name))
    places = [search.places[0] for search in searches]
    cores = sorted(place.core for place in places)
    if any(before[1] > after[0] for before, after in pairwise(cores)):
        raise ToolError(f"Two hunks for {name} change the same lines; merge them.")
    return places, ["The hunks are out of order; each was found by its own lines."]


def _first_fit(searches: list[_Search], *, strict: bool) -> list[HunkPlacement] | None:
    done = 0
    chosen: list[HunkPlacement] = []
    for search in searches:
        fits = (place for place in search.places if (place.at if strict else place.core[0]) >= done)
        place = next(fits, None)
        if place is None:
            return None
        done = place.end if strict else place.core[1]
        chosen.append(place)
    return chosen


def _last_fit(searches: list[_Search], *, strict: bool) -> list[HunkPlacement]:
    """Find the last fit; callers ensure that there is a first one, hence also a last one."""
    limit: int | None = None
    chosen: list[HunkPlacement] = []
    for search in reversed(searches):
        place = next(
            place
            for place in reversed(search.places)
            if limit is None or (place.end if strict else place.core[1]) <= limit
        )
        limit = place.at if strict else place.core[0]
        chosen.append(place)
    return chosen[::-1]


def _ambiguous(search: _Search, name: str) -> str:
    hunk, count = search.places[0].hunk, len(search.places)
    times = f"{count} times" if count <= MAX_PLACES else f"more than {MAX_PLACES} times"
    at = line_numbers([place.at for place in search.places])
    return (
        f"Hunk {hunk.number} fits {name} {times}, at lines {at}. Quote more lines around the change, or name "
        "the function or class above it in an `@@` line."
    )


def _mismatch_reason(lines: TextLines, hunk: PatchHunk) -> str:
    """Return what the file has instead, for the next attempt."""
    if hunk.changes and any(row.kind == "+" for row in hunk.rows):
        places = lines.places(hunk.new, LOOKALIKE)
        if len(places) == 1:
            stop = places[0] + len(hunk.new)
            return f"It seems to be applied already: its new lines are lines {places[0] + 1}-{stop}."
    # Where the patch quotes carriage returns, show those of the file too.
    there = lines.raw if any("\r" in row for row in hunk.old) else lines.bodies
    return nearest_lines(there, hunk.old) or "None of its old lines are in the file; read it again."
