"""A program that adds numbered lines to a file in one of the usual ways, until a stop file appears."""

import random
import sys
import time
from pathlib import Path


def add(path: Path, way: str, line: str) -> None:
    if way == "append":
        with path.open("a") as file:
            file.write(line)
        return
    text = path.read_text()
    if way == "rewrite":
        path.write_text(text + line)
        return
    new = path.with_name("other.new")
    new.write_text(text + line)
    new.replace(path)


def main(path: Path, way: str, stop: Path) -> None:
    number = 0
    while not stop.exists():
        number += 1
        add(path, way, f"other {number}\n")
        time.sleep(random.expovariate(50))
    print(number)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
