"""What `tau SUBCOMMAND --help` prints, and the line that a misused subcommand reports."""

from pathlib import Path

PAGES = Path(__file__).with_name("help_pages")


def help_page(name: str) -> str:
    """The page of a subcommand."""
    return (PAGES / f"{name}.txt").read_text(encoding="utf-8")


def usage_line(name: str) -> str:
    """One sentence for someone who misused a subcommand."""
    form = help_page(name).splitlines()[0].removeprefix("usage: ").partition("  ")[0]
    return f"Usage: {form}. See tau {name} --help."
