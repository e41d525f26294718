"""Names say what a thing is; empty words do not occur."""

import ast
import re
from collections import defaultdict

from tests.shape.source_tree import classes, package_sources

# Participles and metaphors that only their author could decode.
CRYPTIC = {
    *(
        "again",
        "anew",
        "apart",
        "arriving",
        "asking",
        "boards",
        "complaints",
        "found",
        "given",
        "keeping",
        "kept",
    ),
    *(
        "known",
        "lane",
        "mend",
        "newest",
        "outside",
        "parcel",
        "place",
        "said",
        "saying",
        "scene",
        "shelf",
        "shown",
    ),
    *("story", "straying", "telling", "told", "wanted", "warming", "watching", "wish", "wishes", "words"),
}
EMPTY_WORDS = {"manager", "handler", "service", "util", "utils", "helper", "helpers", "common", "misc"}


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)}


def test_name_is_split_into_words() -> None:
    assert words("HTTPSessionManager") == {"http", "session", "manager"}
    assert words("file_utils") == {"file", "utils"}


def test_modules_and_classes_are_named_for_what_they_are() -> None:
    found = []
    for source in package_sources():
        found += [source.where] if words(source.path.stem) & EMPTY_WORDS else []
        found += [
            f"{source.at(cls)} {cls.name}" for cls in classes(source.tree) if words(cls.name) & EMPTY_WORDS
        ]
    assert not found


def test_every_module_has_a_docstring() -> None:
    silent = [source.where for source in package_sources() if not ast.get_docstring(source.tree)]
    assert not silent


def test_public_class_names_are_unique() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for source in package_sources():
        for cls in source.tree.body:
            if isinstance(cls, ast.ClassDef) and not cls.name.startswith("_"):
                places[cls.name].append(source.at(cls))
    assert len(places) > 500
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_names_are_nouns_of_the_field() -> None:
    found = []
    for source in package_sources():
        found += [source.where] if source.path.stem in CRYPTIC else []
        found += [
            f"{source.at(cls)} {cls.name}" for cls in classes(source.tree) if cls.name.lower() in CRYPTIC
        ]
    assert not found
