"""What stands behind `read` and `write` where a path leads to more than a plain text file."""

# A cheap look at a path, before the modules that know better are loaded.
ARCHIVE_SIGNS = (".zip", ".tar", ".tgz")
DATABASE_SIGNS = (".sqlite", ".db")


def names_archive(path_text: str) -> bool:
    return any(sign in path_text.lower() for sign in ARCHIVE_SIGNS)


def names_database(path_text: str) -> bool:
    return any(sign in path_text.lower() for sign in DATABASE_SIGNS)
