"""What a run on a page showed: text and images in order, within limits; files become artifacts."""

import asyncio
import re
from binascii import Error as Base64Error
from binascii import a2b_base64

from msgspec import UNSET, Struct, UnsetType, json

from tau.ai.wire import ImageContent, TextContent, UserContent
from tau.backends.browser.tab import RunEvent, RunResult, SavedFile, Screenshot
from tau.backends.kernels import cells
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import KIB, format_bytes
from tau.base.text import clean_line, reveal, shortened
from tau.coding.images import ImageLimits, load_image
from tau.coding.output import OutputMeta, OutputSink, command_limits, notice, with_notice
from tau.coding.ports import CodingContext
from tau.coding.tools.browser import ScreenshotDetails
from tau.config.settings import Settings

fences = late("tau.coding.untrusted_text")

MAX_IMAGES = 20
SCREENSHOT = ImageLimits(max_width=1024, max_height=1024, max_bytes=150 * KIB, quality=70)


class PageOutput(Struct, frozen=True, kw_only=True):
    parts: list[UserContent]
    screenshots: list[ScreenshotDetails]
    text: str
    is_error: bool
    meta: OutputMeta | UnsetType

    def content(self, *, fenced: bool, hosts: tuple[str, ...]) -> list[UserContent]:
        """Fenced if nothing else knows that the text may be from another host."""
        if not fenced or not hosts:
            return self.parts
        texts = [part.text for part in self.parts if isinstance(part, TextContent)]
        marked = iter(fences.fence(texts, hosts[0]))
        return [TextContent(next(marked)) if isinstance(part, TextContent) else part for part in self.parts]


async def collect(
    result: RunResult, name: str, seconds: float, ctx: CodingContext, settings: Settings
) -> PageOutput:
    collector = _Collector(ctx, settings)
    for event in result.events:
        await collector.take(event)
    for note in result.blocked:
        collector.say(f"[{note}]")
    end = result.end
    if end.lost and end.timed_out:
        collector.say("Browser code execution hung past grace; tab killed")
    elif end.timed_out:
        collector.say(f"Browser code execution timed out after {seconds * 1000:g}ms")
    elif end.status == "died" or end.lost:
        collector.say(f'The process of tab "{name}" ended: {end.reason or end.status}. Reopen it.')
    elif end.status == "interrupted":
        collector.say("The code was interrupted.")
    return collector.finish(f'Ran code on tab "{name}"', is_error=end.status != "ok")


class _Collector:
    def __init__(self, ctx: CodingContext, settings: Settings) -> None:
        self._ctx = ctx
        self._settings = settings
        self._parts: list[UserContent] = []
        self._open = bytearray()
        self._images = 0
        self._screenshots: list[ScreenshotDetails] = []

    async def take(self, event: RunEvent) -> None:
        match event:
            case Screenshot():
                await self._take_screenshot(event)
            case SavedFile():
                path = self._store(event.data, event.name)
                size = format_bytes(len(event.data))
                self.say(f"[File {shortened(clean_line(event.name), 200)}, {size}: {path}]")
            case cells.TextOutput():
                self._open += event.data
            case cells.ImageOutput():
                try:
                    await self._add_image(a2b_base64(event.data))
                except Base64Error:
                    self.say("[Image not shown: its data is not base64]")
            case cells.JsonOutput():
                self.say(json.format(json.encode(event.value), indent=2).decode())
            case cells.MarkdownOutput() | cells.HtmlOutput():
                self.say(event.text)
            case _:
                pass

    async def _take_screenshot(self, shot: Screenshot) -> None:
        dest = shot.dest or self._store(shot.data, "shot.png")
        self._screenshots.append(
            ScreenshotDetails(dest, "image/png", len(shot.data), shot.width, shot.height)
        )
        if not shot.silent:
            self.say(f"Screenshot {shot.width}x{shot.height}, saved to {clean_line(dest)}")
            await self._add_image(shot.data)

    def _store(self, data: bytes, name: str) -> str:
        """Keep a file as an artifact; returns its path."""
        suffix = re.search(r"\.([a-z0-9]{1,8})$", name.lower())
        sink = self._ctx.artifacts.create("browser", suffix[1] if suffix else "log")
        try:
            sink.write(data)
        except OSError as error:
            return f"not saved ({error.strerror})"
        finally:
            sink.close()
        return str(sink.path)

    async def _add_image(self, data: bytes) -> None:
        images = self._settings.images
        if images.block_images:
            self.say("[Image not sent: images.blockImages is true]")
            return
        self._images += 1
        if self._images > MAX_IMAGES:
            if self._images == MAX_IMAGES + 1:
                self.say(f"[Only the first {MAX_IMAGES} images are sent]")
            return
        try:
            loaded = await asyncio.to_thread(load_image, data, auto_resize=True, limits=SCREENSHOT)
        except ToolError as error:
            self.say(f"[Image not sent: {str(error).rstrip('.')}]")
        else:
            self._close_text()
            self._parts.append(loaded.content())

    def say(self, line: str) -> None:
        if self._open and not self._open.endswith(b"\n"):
            self._open += b"\n"
        self._open += f"{line}\n".encode("utf-8", "replace")

    def _close_text(self) -> None:
        text = self._open.decode("utf-8", "replace").strip("\n")
        self._open.clear()
        if text.strip():
            self._parts.append(TextContent(reveal(re.sub(r"\x1b\[[0-9;]*m", "", text))))

    def finish(self, nothing: str, *, is_error: bool) -> PageOutput:
        self._close_text()
        parts = self._parts or [TextContent(nothing)]
        text = "\n".join(part.text for part in parts if isinstance(part, TextContent))
        meta: OutputMeta | UnsetType = UNSET
        with OutputSink(self._ctx.artifacts, "browser", command_limits(self._settings.tools)) as sink:
            sink.push(text.encode("utf-8", "replace"))
            shown = sink.finish()
        if shown.truncation is not None:
            text, meta = with_notice(shown.text, notice(shown.truncation)), shown.meta
            parts = [TextContent(text), *(part for part in parts if isinstance(part, ImageContent))]
        return PageOutput(parts=parts, screenshots=self._screenshots, text=text, is_error=is_error, meta=meta)
