"""Backends of `read` and `write` for paths to more than a plain text file."""

# A cheap check of a path, before loading the modules that know better.
ARCHIVE_SIGNS = (".zip", ".tar", ".tgz")
DATABASE_SIGNS = (".sqlite", ".db")


def names_archive(path_text: str) -> bool:
    return any(sign in path_text.lower() for sign in ARCHIVE_SIGNS)


def names_database(path_text: str) -> bool:
    return any(sign in path_text.lower() for sign in DATABASE_SIGNS)
