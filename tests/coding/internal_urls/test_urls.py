"""Internal URLs: who resolves them, what is writable, and that nothing escapes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base.errors import ToolError
from tests.coding.context import CallContext, call_context


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[CallContext]:
    """In a saved session."""
    with call_context(tmp_path, tmp_path / "sessions") as ctx:
        yield ctx


def local_folder(ctx: CallContext) -> Path:
    assert ctx.log.artifacts_folder is not None
    return ctx.log.artifacts_folder / "local"


def test_an_unknown_scheme_lists_the_known_ones(ctx: CallContext) -> None:
    assert (
        ctx.urls.handles("nowhere://x") and not ctx.urls.handles("https://x") and not ctx.urls.handles("a/b")
    )
    with pytest.raises(ToolError, match="agent://, artifact://, conflict://, history://, local://, tau://"):
        asyncio.run(ctx.urls.resolve("nowhere://x", ctx))


def test_local_files_can_be_written_and_read(ctx: CallContext) -> None:
    asyncio.run(ctx.urls.write("local://notes/plan.md", b"1. look\n", ctx))

    resource = asyncio.run(ctx.urls.resolve("local://notes/plan.md", ctx))

    assert resource.data == b"1. look\n" and not resource.immutable
    assert resource.path == local_folder(ctx) / "notes" / "plan.md"


def test_percent_encoded_name_was_taken_literally(ctx: CallContext) -> None:
    asyncio.run(ctx.urls.write("local://to%20do%2Fpl%C3%A4ne.md", b"x", ctx))
    assert (local_folder(ctx) / "to do" / "pläne.md").read_bytes() == b"x"
    assert asyncio.run(ctx.urls.resolve("local://to do/pläne.md", ctx)).data == b"x"
    asyncio.run(ctx.urls.write("local://100%.md", b"y", ctx))
    assert (local_folder(ctx) / "100%.md").read_bytes() == b"y"
    page = asyncio.run(ctx.urls.resolve("tau://tools%2Fread", ctx))
    assert page.url == "tau://tools/read.md"


@pytest.mark.parametrize(
    "rest", ["../x", "a/../../x", "..", "a/\0b", "%2e%2e/x", "a%2F..%2F..%2Fx", "a/%00b"]
)
def test_urls_cannot_escape_the_session_folder(ctx: CallContext, rest: str) -> None:
    for act in (ctx.urls.resolve(f"local://{rest}", ctx), ctx.urls.write(f"local://{rest}", b"", ctx)):
        with pytest.raises(ToolError):
            asyncio.run(act)


def test_link_out_of_the_session_folder_is_not_followed(ctx: CallContext, tmp_path: Path) -> None:
    asyncio.run(ctx.urls.write("local://a", b"", ctx))
    (local_folder(ctx) / "out").symlink_to(tmp_path)

    with pytest.raises(ToolError, match="is outside"):
        asyncio.run(ctx.urls.write("local://out/x", b"", ctx))


def test_missing_local_file_lists_what_exists(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="Nothing has been written"):
        asyncio.run(ctx.urls.resolve("local://plan.md", ctx))
    asyncio.run(ctx.urls.write("local://other.md", b"x", ctx))
    with pytest.raises(ToolError, match=r"other\.md"):
        asyncio.run(ctx.urls.resolve("local://plan.md", ctx))


def test_unsaved_session_has_local_files_too(tmp_path: Path) -> None:
    with call_context(tmp_path) as ctx:
        with pytest.raises(ToolError, match="nothing has been written"):
            asyncio.run(ctx.urls.resolve("local://a", ctx))
        written = asyncio.run(ctx.urls.write("local://a", b"x", ctx))
        assert asyncio.run(ctx.urls.resolve("local://a", ctx)).data == b"x"
    assert written.path is not None and not written.path.exists()


def test_documentation_can_be_listed_and_read(ctx: CallContext) -> None:
    listing = asyncio.run(ctx.urls.resolve("tau://", ctx)).data.decode()
    assert "tau://usage.md\n" in listing

    page = asyncio.run(ctx.urls.resolve("tau://usage", ctx))

    assert page.data.startswith(b"# ") and page.immutable
    with pytest.raises(ToolError, match=r"usage\.md"):
        asyncio.run(ctx.urls.resolve("tau://nothing", ctx))


@pytest.mark.parametrize("url", ["artifact://0", "tau://usage.md"])
def test_read_only_urls_cannot_be_written(ctx: CallContext, url: str) -> None:
    with pytest.raises(ToolError, match="not written"):
        asyncio.run(ctx.urls.write(url, b"x", ctx))
