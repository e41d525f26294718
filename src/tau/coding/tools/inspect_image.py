"""inspect_image: asks a vision model about an image."""

import asyncio
import stat as modes
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct

from tau.agent.effects import Effects
from tau.agent.loop_owner import Complete
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import TextContent, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError, ToolError
from tau.base.late import late
from tau.coding import prompts
from tau.coding.files.paths import failure, shown, wire_path
from tau.coding.files.targets import locate_file
from tau.coding.ports import CodingContext
from tau.config.tool_settings import ImagesSettings

image_header = late("tau.base.image_header")
images = late("tau.coding.images")

MAX_ANSWER_TOKENS = 4_096


class InspectImageParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"file_path": "path", "file": "path", "prompt": "question"}

    path: Annotated[str, Meta(title="Image file")]
    question: Annotated[str, Meta(title="What to find out about the image")]


class InspectImageDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`mime_type` is that of the sent image, which may differ from the file's."""

    model: str
    image_path: str
    mime_type: str


class InspectImage(Tool[InspectImageParams]):
    name, label = "inspect_image", "Inspect image"

    def __init__(self, complete: Complete | None, settings: ImagesSettings | None = None) -> None:
        self._complete = complete
        self._settings = settings or ImagesSettings()

    @cached_property
    def _system(self) -> str:
        folder = Path(prompts.__path__[0])
        return (folder / "inspect_image.md").read_text(encoding="utf-8").strip()

    def effects(self, params: InspectImageParams, cwd: Path) -> Effects:
        target = locate_file(params.path, cwd)
        return Effects(reads=() if target.kind == "url" else (target.path,))

    async def run(self, params: InspectImageParams, ctx: CodingContext) -> ToolOutput:
        if self._settings.block_images:
            raise ToolError(
                "Sending images is disabled (images.blockImages is true); "
                "disable that setting to use inspect_image."
            )
        if self._complete is None:
            raise ToolError("No vision model is available here.")
        model = _seeing_model(ctx)
        path, data = await _read(params.path, ctx)
        if image_header.read_header(data) is None:
            raise ToolError("inspect_image takes only PNG, JPEG, GIF and WEBP files (judged by content).")
        image = await asyncio.to_thread(images.load_image, data, auto_resize=self._settings.auto_resize)
        question = UserMessage([image.content(), TextContent(params.question)], now_ms())
        request = Request(
            system=self._system,
            messages=[question],
            tools=[],
            max_tokens=min(model.max_tokens, MAX_ANSWER_TOKENS),
            thinking=(ctx.models.level("vision") if model == ctx.models.role("vision") else None) or "off",
        )
        answer = await _ask(self._complete, model, request)
        details = InspectImageDetails(model=model.key, image_path=path, mime_type=image.mime_type)
        return ToolOutput.text(answer, details)


def _seeing_model(ctx: CodingContext) -> Model:
    try:
        model = ctx.models.for_images()
    except TauError as error:
        raise ToolError(f"There is no model for inspect_image: {error}") from error
    if "image" not in model.input:
        raise ToolError(
            f"The model {model.key} does not take images; set modelRoles.vision to one that does."
        )
    return model


async def _ask(complete: Complete, model: Model, request: Request) -> str:
    try:
        message = await complete(model, request)
    except ToolError:
        raise
    except TauError as error:
        raise ToolError(str(error)) from error
    if message.stop_reason == "error":
        reason = message.error_message
        raise ToolError(reason if reason is not UNSET and reason else "The inspect_image request failed.")
    if message.stop_reason == "aborted":
        raise ToolError("The inspect_image request was aborted.")
    text = message.text.strip()
    if not text:
        raise ToolError(f"{model.key} returned no text; ask again, or use another model.")
    return text


async def _read(text: str, ctx: CodingContext) -> tuple[str, bytes]:
    """The resolved path or URL, and the bytes. Refuses files that are too large or endless."""
    target = locate_file(text, ctx.cwd)
    if target.kind == "url":
        resource = await ctx.urls.resolve(target.text, ctx)
        return resource.url if resource.path is None else wire_path(resource.path), resource.data
    path = target.path
    name = shown(path, ctx.cwd)
    try:
        stat = await ctx.fs.stat(path)
        if stat is None:
            raise ToolError(f"There is no file {name}.")
        if stat.is_dir:
            raise ToolError(f"{name} is a directory; name an image file.")
        if stat.mode and not modes.S_ISREG(stat.mode):
            raise ToolError(f"{name} is a device, pipe or socket, not a file.")
        images.check_size(stat.size)
        return wire_path(path), await ctx.fs.read(path)
    except OSError as error:
        raise failure("read", name, error) from error
