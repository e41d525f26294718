"""Internal addresses: who answers, what can be written, and that nothing leads out."""

import asyncio
from pathlib import Path

import pytest

from tau.base.errors import ToolError
from tau.coding.artifacts import FolderArtifacts, TemporaryArtifacts
from tau.coding.internal_urls.artifact import ArtifactUrls
from tau.coding.internal_urls.docs import DocsUrls
from tau.coding.internal_urls.local import LocalUrls
from tau.coding.internal_urls.router import SchemeRouter
from tests.coding.context import CallContext


@pytest.fixture
def artifacts(tmp_path: Path) -> FolderArtifacts:
    return FolderArtifacts(tmp_path / "session")


@pytest.fixture
def router(artifacts: FolderArtifacts) -> SchemeRouter:
    router = SchemeRouter()
    for scheme in (ArtifactUrls(), LocalUrls(artifacts), DocsUrls()):
        router.register(scheme)
    return router


@pytest.fixture
def ctx(tmp_path: Path, artifacts: FolderArtifacts) -> CallContext:
    return CallContext(tmp_path, artifacts)


def test_an_unknown_scheme_lists_the_known_ones(router: SchemeRouter, ctx: CallContext) -> None:
    assert router.handles("nowhere://x") and not router.handles("https://x") and not router.handles("a/b")
    with pytest.raises(ToolError, match="artifact://, local://, tau://"):
        asyncio.run(router.resolve("nowhere://x", ctx))


def test_local_files_can_be_written_and_read(router: SchemeRouter, ctx: CallContext, tmp_path: Path) -> None:
    asyncio.run(router.write("local://notes/plan.md", b"1. look\n", ctx))

    resource = asyncio.run(router.resolve("local://notes/plan.md", ctx))

    assert resource.data == b"1. look\n" and not resource.immutable
    assert resource.path == tmp_path / "session" / "local" / "notes" / "plan.md"


@pytest.mark.parametrize("rest", ["../x", "a/../../x", "..", "a/\0b"])
def test_nothing_leads_out_of_the_sessions_folder(router: SchemeRouter, ctx: CallContext, rest: str) -> None:
    for act in (router.resolve(f"local://{rest}", ctx), router.write(f"local://{rest}", b"", ctx)):
        with pytest.raises(ToolError):
            asyncio.run(act)


def test_a_link_out_of_the_sessions_folder_is_not_followed(
    router: SchemeRouter, ctx: CallContext, tmp_path: Path
) -> None:
    asyncio.run(router.write("local://a", b"", ctx))
    (tmp_path / "session" / "local" / "out").symlink_to(tmp_path)

    with pytest.raises(ToolError, match="leads out"):
        asyncio.run(router.write("local://out/x", b"", ctx))


def test_a_missing_local_file_says_what_there_is(router: SchemeRouter, ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="Nothing has been written"):
        asyncio.run(router.resolve("local://plan.md", ctx))
    asyncio.run(router.write("local://other.md", b"x", ctx))
    with pytest.raises(ToolError, match=r"other\.md"):
        asyncio.run(router.resolve("local://plan.md", ctx))


def test_a_session_that_is_not_kept_has_local_files_too(ctx: CallContext) -> None:
    artifacts = TemporaryArtifacts()
    router = SchemeRouter()
    router.register(LocalUrls(artifacts))
    try:
        with pytest.raises(ToolError, match="nothing has been written"):
            asyncio.run(router.resolve("local://a", ctx))
        written = asyncio.run(router.write("local://a", b"x", ctx))
        assert asyncio.run(router.resolve("local://a", ctx)).data == b"x"
    finally:
        artifacts.close()
    assert written.path is not None and not written.path.exists()


def test_the_documentation_can_be_listed_and_read(router: SchemeRouter, ctx: CallContext) -> None:
    listing = asyncio.run(router.resolve("tau://", ctx)).data.decode()
    assert "tau://usage.md\n" in listing

    page = asyncio.run(router.resolve("tau://usage", ctx))

    assert page.data.startswith(b"# ") and page.immutable
    with pytest.raises(ToolError, match=r"usage\.md"):
        asyncio.run(router.resolve("tau://nothing", ctx))


@pytest.mark.parametrize("url", ["artifact://0", "tau://usage.md"])
def test_what_is_only_to_be_read_cannot_be_written(router: SchemeRouter, ctx: CallContext, url: str) -> None:
    with pytest.raises(ToolError, match="not written"):
        asyncio.run(router.write(url, b"x", ctx))
