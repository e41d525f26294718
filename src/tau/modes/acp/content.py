"""The blocks of a prompt as a message for the model, and messages as blocks."""

from collections.abc import Sequence
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from acp import schema as a

from tau.ai.wire import Attachment, ImageContent
from tau.base.errors import UsageError

PromptBlock: TypeAlias = (
    a.TextContentBlock
    | a.ImageContentBlock
    | a.AudioContentBlock
    | a.ResourceContentBlock
    | a.EmbeddedResourceContentBlock
)


class PromptMessage:
    """What the user sent: text with the resources in their places, images, and documents to extract."""

    def __init__(self, blocks: Sequence[PromptBlock]) -> None:
        self.images: list[ImageContent] = []
        self.attachments: list[Attachment] = []
        self.text = "".join(self._text(block) for block in blocks)

    def _text(self, block: PromptBlock) -> str:
        match block:
            case a.TextContentBlock():
                return block.text
            case a.ImageContentBlock():
                self._add_image(block.data, block.mime_type)
                return ""
            case a.ResourceContentBlock():
                return f"@{path_of(block.uri)} "
            case a.EmbeddedResourceContentBlock():
                return self._resource(block.resource)
            case a.AudioContentBlock():
                raise UsageError("Audio is not supported; send text, images or files.")

    def _resource(self, resource: a.TextResourceContents | a.BlobResourceContents) -> str:
        name = path_of(resource.uri)
        if isinstance(resource, a.TextResourceContents):
            return f'\n<file path="{name}">\n{resource.text}\n</file>\n'
        mime_type = resource.mime_type or "application/octet-stream"
        if mime_type.startswith("image/"):
            self._add_image(resource.blob, mime_type)
        else:
            self.attachments.append(
                Attachment(
                    id=f"resource-{len(self.attachments) + 1}",
                    type="document",
                    file_name=name.rpartition("/")[2] or name,
                    mime_type=mime_type,
                    size=len(resource.blob) * 3 // 4,
                    content=resource.blob,
                )
            )
        return f"@{name} "

    def _add_image(self, data: str, mime_type: str) -> None:
        self.images.append(ImageContent(data=data, mime_type=mime_type))


def path_of(uri: str) -> str:
    """The path of a file URI; other URIs stay as they are."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def text_block(text: str) -> a.TextContentBlock:
    return a.TextContentBlock(type="text", text=text)


def image_block(image: ImageContent) -> a.ImageContentBlock:
    return a.ImageContentBlock(type="image", data=image.data, mime_type=image.mime_type)
