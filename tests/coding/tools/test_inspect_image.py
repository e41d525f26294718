"""inspect_image: a question about an image, answered by a model that can see."""

import asyncio
import binascii
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tau.agent.effects import Effects
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, ImageContent, TextContent, ThinkingContent, Usage, UserMessage
from tau.base.errors import ConfigError, ProviderError, ToolError
from tau.coding.context import ModelRoles
from tau.coding.ports import Resource
from tau.coding.tools.inspect_image import InspectImage, InspectImageDetails, InspectImageParams
from tau.config.tool_settings import ImagesSettings
from tau.sdk import call_tool
from tests.coding.context import CallContext, call, call_now, text_of

BLIND = Model(id="blind", name="Blind", api="x", provider="faux", base_url="")
SEEING = msgspec.structs.replace(BLIND, id="seeing", input=("text", "image"), max_tokens=1_000)
# One red pixel.
PNG = binascii.a2b_base64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


class FakeModel:
    """Answers every request with the same message and records the requests."""

    def __init__(self, *content: Any, **fields: Any) -> None:
        self.asked: list[tuple[Model, Request]] = []
        self.failure: Exception | None = None
        given = {"stop_reason": "stop", **fields}
        self.answer = AssistantMessage(list(content), "x", "faux", "seeing", Usage(), timestamp=0, **given)

    async def __call__(self, model: Model, request: Request) -> AssistantMessage:
        self.asked.append((model, request))
        if self.failure is not None:
            raise self.failure
        return self.answer


@pytest.fixture
def sight(ctx: CallContext) -> CallContext:
    """A folder with an image, and a model for it."""
    ctx.models = ModelRoles(BLIND, {"vision": SEEING})
    (ctx.cwd / "shot.png").write_bytes(PNG)
    return ctx


def test_answer_and_request(sight: CallContext) -> None:
    model = FakeModel(ThinkingContent("hm"), TextContent(" A red "), TextContent("pixel.\n"))
    output = call_now(InspectImage(model), sight, path="shot.png", question="Which color?")
    assert text_of(output) == "A red pixel."
    assert output.details == InspectImageDetails(
        model="faux/seeing", image_path=str(sight.cwd / "shot.png"), mime_type="image/png"
    )
    [(asked, request)] = model.asked
    assert asked == SEEING and request.tools == [] and request.max_tokens == 1_000
    assert "image" in request.system
    [message] = request.messages
    assert isinstance(message, UserMessage)
    encoded = binascii.b2a_base64(PNG, newline=False).decode()
    assert message.content == [ImageContent(encoded, "image/png"), TextContent("Which color?")]


def refusal(sight: CallContext, model: FakeModel | None = None, path: str = "shot.png", **how: Any) -> str:
    model = model or FakeModel(TextContent("unused"))
    with pytest.raises(ToolError) as caught:
        call_now(InspectImage(model, ImagesSettings(**how)), sight, path=path, question="?")
    return str(caught.value)


def test_images_can_be_blocked(sight: CallContext) -> None:
    model = FakeModel(TextContent("x"))
    assert "images.blockImages" in refusal(sight, model, block_images=True)
    assert not model.asked


def test_blind_model_is_reported_before_the_file_is_read(sight: CallContext) -> None:
    sight.models = ModelRoles(BLIND)
    text = refusal(sight, path="missing.png")
    assert "faux/blind does not take images" in text and "modelRoles.vision" in text


def test_no_model_at_all(sight: CallContext) -> None:
    class NoModels:
        def for_images(self) -> Model:
            raise ConfigError("No key for anybody.")

    sight.models = NoModels()
    assert refusal(sight) == "There is no model for inspect_image: No key for anybody."


def test_direct_tool_call_without_a_model_is_an_error(sight: CallContext) -> None:
    with pytest.raises(ToolError, match="No vision model is available here"):
        asyncio.run(call_tool("inspect_image", {"path": "shot.png", "question": "?"}, sight.cwd))


def test_non_image_files(sight: CallContext) -> None:
    (sight.cwd / "fake.png").write_text("just text")
    (sight.cwd / "folder").mkdir()
    os.mkfifo(sight.cwd / "pipe.png")
    with (sight.cwd / "huge.png").open("wb") as file:
        file.truncate(20 * 1024 * 1024 + 1)
    assert "only PNG, JPEG, GIF and WEBP files" in refusal(sight, path="fake.png")
    assert "is a directory" in refusal(sight, path="folder")
    assert "device, pipe or socket" in refusal(sight, path="pipe.png")
    assert "Image file too large" in refusal(sight, path="huge.png")
    assert refusal(sight, path="no.png") == "There is no file no.png."


def test_failed_answer(sight: CallContext) -> None:
    assert refusal(sight, FakeModel(stop_reason="error", error_message="overloaded")) == "overloaded"
    assert "failed" in refusal(sight, FakeModel(stop_reason="error"))
    assert "aborted" in refusal(sight, FakeModel(stop_reason="aborted"))
    assert "returned no text" in refusal(sight, FakeModel(ThinkingContent("..."), TextContent("  ")))


def test_failed_request(sight: CallContext) -> None:
    model = FakeModel()
    model.failure = ProviderError("The server is busy.", status=529)
    assert refusal(sight, model) == "The server is busy."


def test_large_image_is_scaled_down_unless_disabled(sight: CallContext) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is in the extra `images`")
    pillow.new("RGB", (3000, 300), "navy").save(sight.cwd / "large.gif")
    for auto_resize in (True, False):
        model = FakeModel(TextContent("blue"))
        tool = InspectImage(model, ImagesSettings(auto_resize=auto_resize))
        output = call_now(tool, sight, path="large.gif", question="?")
        assert (output.details.mime_type == "image/gif") is not auto_resize


def test_image_behind_an_internal_url(sight: CallContext) -> None:
    class Pictures:
        scheme = "pictures"

        async def resolve(self, rest: str, ctx: Any) -> Resource:
            return Resource(url=f"pictures://{rest}", data=PNG)

    sight.urls.register(Pictures())
    output = call_now(InspectImage(FakeModel(TextContent("ok"))), sight, path="pictures://1", question="?")
    assert output.details.image_path == "pictures://1"


def test_cancellation_reaches_the_request(sight: CallContext) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def slow(model: Model, request: Request) -> AssistantMessage:
        started.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
        raise AssertionError

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(call(InspectImage(slow), sight, path="shot.png", question="?"))
            await started.wait()
            task.cancel()
        assert ended.is_set()

    asyncio.run(main())


def test_declares_that_it_reads_the_file() -> None:
    tool = InspectImage(FakeModel())
    cwd = Path("/work")
    assert tool.effects(InspectImageParams("a.png", "?"), cwd) == Effects(reads=(cwd / "a.png",))
    assert tool.effects(InspectImageParams("local://a.png", "?"), cwd) == Effects()


def test_schema_requires_both_fields() -> None:
    schema = InspectImage(FakeModel()).spec.parameters
    assert schema["required"] == ["path", "question"]


@pytest.mark.parametrize(
    ("roles", "available"),
    [
        (ModelRoles(BLIND, {"vision": BLIND, "default": SEEING}), "default"),
        (ModelRoles(SEEING, {"vision": BLIND, "default": BLIND}), "current"),
        (ModelRoles(BLIND, {"vision": BLIND}, lambda: [BLIND, SEEING]), "any other"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_blind_model_was_asked_though_another_sees(
    sight: CallContext, roles: ModelRoles, available: str
) -> None:
    sight.models = roles
    model = FakeModel(TextContent("red"))
    call_now(InspectImage(model), sight, path="shot.png", question="Which color?")
    assert [asked.key for asked, _ in model.asked] == ["faux/seeing"]


def test_broken_picture_is_not_sent(sight: CallContext) -> None:
    (sight.cwd / "shot.png").write_bytes(PNG[:50])
    model = FakeModel(TextContent("red"))
    with pytest.raises(ToolError, match="could not be decoded"):
        call_now(InspectImage(model), sight, path="shot.png", question="Which color?")
    assert not model.asked
