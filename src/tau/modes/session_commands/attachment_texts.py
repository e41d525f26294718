"""Extracts the text of attached documents that came without it."""

import base64
import binascii
from collections.abc import Sequence
from contextlib import closing

from msgspec import UNSET
from msgspec.structs import replace

from tau.ai.wire import Attachment
from tau.base.run import LocalRunner
from tau.coding.readers.documents import DocumentError, kind_of
from tau.coding.readers.documents.worker import convert_in_worker
from tau.modes.session_commands.command import CommandError


async def with_texts(attachments: Sequence[Attachment]) -> list[Attachment]:
    """Each document with its text. Raises CommandError if one cannot be read."""
    return [
        replace(item, extracted_text=await _extract(item))
        if item.type == "document" and item.extracted_text is UNSET
        else item
        for item in attachments
    ]


async def _extract(attachment: Attachment) -> str:
    try:
        data = base64.b64decode(attachment.content, validate=True)
    except (ValueError, binascii.Error):
        raise CommandError(f'The attachment "{attachment.file_name}" is not valid base64.') from None
    try:
        if kind_of(data) == "unknown" and b"\0" not in data:
            return data.decode()
        with closing(LocalRunner()) as runner:
            return await convert_in_worker(attachment.file_name, data, runner)
    except UnicodeDecodeError:
        name = attachment.file_name
        raise CommandError(f'The attachment "{name}" is neither text nor a document.') from None
    except DocumentError as error:
        raise CommandError(f'The attachment "{attachment.file_name}" cannot be read: {error}') from error
