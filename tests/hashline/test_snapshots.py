"""The store behind the tags: bounded, and never two texts under one tag."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from tau.hashline.records import LineShift
from tau.hashline.snapshots import MAX_BYTES, SnapshotOrigin, SnapshotStore, tag_of


def colliding(tag: str, amount: int) -> list[str]:
    """Different texts whose natural tags collide."""
    found: list[str] = []
    for number in count():
        text = f"line {number}\n"
        if tag_of(text) == tag:
            found.append(text)
            if len(found) == amount:
                break
    return found


def test_text_is_found_by_its_tag() -> None:
    store = SnapshotStore()
    tag = store.record("a", "x\n")
    assert tag == tag_of("x\n")
    found = store.find("a", tag)
    assert found is not None and found.text == "x\n" and not found.own
    assert store.find("b", tag) is None
    assert store.latest("a") == found
    assert store.latest("b") is None


def test_same_text_keeps_its_tag() -> None:
    store = SnapshotStore()
    first = store.record("a", "x\n")
    store.record("a", "y\n")
    assert store.record("a", "x\n") == first
    latest = store.latest("a")
    assert latest is not None and latest.text == "x\n"
    assert len(store.versions("a")) == 2


def test_colliding_texts_get_different_tags() -> None:
    store = SnapshotStore()
    texts = colliding(tag_of("line 0\n"), 3)
    tags = [store.record("a", text) for text in texts]
    assert len(set(tags)) == 3
    for text, tag in zip(texts, tags, strict=True):
        assert tag is not None
        found = store.find("a", tag)
        assert found is not None and found.text == text
    assert store.record("b", texts[1]) == tags[0]  # another file has its own tags


def test_texts_differing_in_trailing_blanks_get_different_tags() -> None:
    store = SnapshotStore()
    assert store.record("a", "x\n") != store.record("a", "x \n")


def test_forgotten_tag_is_never_reused_for_another_text() -> None:
    store = SnapshotStore(max_versions=1)
    one, other = colliding(tag_of("line 0\n"), 2)
    first = store.record("a", one)
    second = store.record("a", other)
    assert first != second
    assert first is not None and store.find("a", first) is None
    assert store.was_issued("a", first)
    assert not store.was_issued("b", first)
    assert store.record("a", one) == first


def test_tag_of_a_dropped_text_that_returns_keeps_its_origin_and_is_not_new() -> None:
    store = SnapshotStore(max_versions=1)
    origin = SnapshotOrigin("00AA", (LineShift(1, 1, 1),))
    tag = store.record("a", "x\n", origin=origin)
    store.record("a", "y\n")
    assert [issued.tag for issued in store.take_new()] == [tag, tag_of("y\n")]
    assert store.record("a", "x\n") == tag
    assert tag is not None and store.origin("a", tag) == origin
    assert store.take_new() == []


def test_text_fits_its_tag_even_after_it_was_dropped() -> None:
    store = SnapshotStore(max_versions=1)
    first, second = colliding(tag_of("line 0\n"), 2)
    tags = [store.record("a", text) for text in (first, second, "")]
    natural, salted, empty = tags
    assert natural and salted and empty
    assert store.fits("a", natural, first) and store.fits("a", natural, first.replace("\n", " \n"))
    assert store.fits("a", salted, second) and store.fits("a", empty, "")
    assert not store.fits("a", natural, second) and not store.fits("a", salted, first)
    assert store.fits("b", natural, second) and not store.fits("b", salted, second)  # of another process


def test_versions_of_a_path_are_bounded_and_the_oldest_is_dropped() -> None:
    store = SnapshotStore()
    tags = [store.record("a", f"{number}\n") for number in range(8 + 3)]
    assert [version.tag for version in store.versions("a")] == tags[3:]


def test_paths_are_bounded_and_the_least_used_is_dropped() -> None:
    store = SnapshotStore()
    tags = [store.record(f"p{number}", "x") for number in range(30)]
    assert tags[0] is not None and store.find("p0", tags[0]) is not None
    store.record("one more", "x")
    assert len(store.paths) == 30
    assert store.find("p0", tags[0]) is not None
    assert tags[1] is not None and store.find("p1", tags[1]) is None


def test_bytes_are_bounded_and_an_oversized_text_gets_no_tag() -> None:
    store = SnapshotStore(max_bytes=10_000)
    assert store.record("big", "x" * 20_000) is None
    assert store.size_bytes == 0
    for number in range(20):
        store.record(f"p{number}", str(number) * 900)
        assert store.size_bytes <= 10_000
    assert store.latest("p19") is not None
    assert store.latest("p0") is None
    assert MAX_BYTES == 32 * 1024 * 1024


def test_forgotten_path_frees_its_bytes() -> None:
    store = SnapshotStore()
    store.record("a", "x")
    store.record("a", "y")
    store.forget("a")
    store.forget("never seen")
    assert (store.size_bytes, store.paths) == (0, ())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("xy\n ", max_size=3)), max_size=60))
def test_tag_always_finds_its_text_or_nothing(steps: list[tuple[str, str]]) -> None:
    store = SnapshotStore(max_paths=2, max_versions=3, max_bytes=400)
    given_out: dict[tuple[str, str], str] = {}
    for path, text in steps:
        tag = store.record(path, text)
        assert tag is not None
        assert given_out.setdefault((path, tag), text) == text
        for (known_path, known_tag), known_text in given_out.items():
            found = store.find(known_path, known_tag)
            assert found is None or found.text == known_text
        assert store.size_bytes == sum(
            version.size_bytes for path in store.paths for version in store.versions(path)
        )
        assert store.size_bytes <= 400
