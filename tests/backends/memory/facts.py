"""A thousand facts, and questions about some of them."""

import random
from collections.abc import Iterator

SUBJECTS = (
    "cache",
    "parser",
    "scheduler",
    "login",
    "export",
    "billing",
    "search",
    "upload",
    "mailer",
    "queue",
)
VERBS = (
    "uses",
    "rejects",
    "retries",
    "stores",
    "compresses",
    "validates",
    "logs",
    "encrypts",
    "merges",
    "rotates",
)
OBJECTS = (
    "tokens",
    "headers",
    "images",
    "invoices",
    "sessions",
    "batches",
    "cookies",
    "archives",
    "events",
    "rows",
)
PLACES = ("Redis", "Postgres", "memory", "disk", "Kafka", "S3", "SQLite", "etcd", "Vault", "Elastic")
NAMES = ("max", "min", "retry", "flush", "commit", "refresh", "shard", "bucket", "window", "lease")
UNITS = ("Limit", "Timeout", "Count", "Interval", "Ratio", "Policy", "Budget", "Depth", "Offset", "Quota")


def facts() -> list[str]:
    chosen = random.Random(7)
    found: list[str] = []
    for number in range(1_000):
        subject, verb = SUBJECTS[number % 10], VERBS[number // 10 % 10]
        name = f"{NAMES[number // 100]}{SUBJECTS[number % 10].title()}{UNITS[number // 10 % 10]}"
        found.append(
            f"The {subject} {verb} {chosen.choice(OBJECTS)} in {PLACES[number // 100]};"
            f" {name} is set in module_{number:03d}."
        )
    return found


def questions(kind: str) -> Iterator[tuple[str, int]]:
    """200 questions with the number of the fact that answers each."""
    known = facts()
    for number in random.Random(3).sample(range(1_000), 200):
        subject, verb = SUBJECTS[number % 10], VERBS[number // 10 % 10]
        name = f"{NAMES[number // 100]}{subject.title()}{UNITS[number // 10 % 10]}"
        place = PLACES[number // 100]
        match kind:
            case "same words":
                yield f"What does the {subject} do when it {verb} things in {place}?", number
            case "identifiers":
                words = f"{NAMES[number // 100]} {subject} {UNITS[number // 10 % 10].lower()}"
                yield (name if number % 2 else f"where do we set the {words}s"), number
            case "typos":
                at = len(name) // 2
                yield f"{name[:at]}{name[at + 1 :]}", number
    assert len(known) == 1_000
