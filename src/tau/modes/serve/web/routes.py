"""The operations that only the page uses: messages as HTML, by the renderers of the HTML export."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct, field

from tau.base.errors import SessionError
from tau.base.sizes import KIB
from tau.modes.serve.content_routes import with_log
from tau.modes.serve.errors import not_found
from tau.modes.serve.operation import ApiCall, operation
from tau.modes.serve.web import transcript_html
from tau.modes.serve.web.transcript_html import MAX_ENTRIES, TranscriptPage

MAX_CHARS = 256 * KIB


class TranscriptQuery(Struct, frozen=True):
    """`before`: entries before this one. `from`: this entry and later ones."""

    before: str = ""
    start: str = field(default="", name="from")
    limit: Annotated[int, Meta(ge=1, le=MAX_ENTRIES)] = 40


class RenderRequest(Struct, frozen=True):
    """Markdown; code if there is a language, such as `python` or `diff`."""

    text: Annotated[str, Meta(max_length=MAX_CHARS)]
    language: Annotated[str, Meta(max_length=100)] = ""


class RenderedText(Struct, frozen=True):
    html: str


async def get_transcript(call: ApiCall) -> TranscriptPage:
    query = call.query
    try:
        return await with_log(
            call,
            lambda log: transcript_html.transcript_page(
                log, before=query.before or None, start=query.start or None, limit=query.limit
            ),
        )
    except SessionError as error:
        raise not_found(str(error)) from error


async def render_text(call: ApiCall) -> RenderedText:
    return RenderedText(await asyncio.to_thread(transcript_html.render, call.body.text, call.body.language))


OPERATIONS = (
    operation(
        "GET",
        "/v1/sessions/{id}/transcript",
        get_transcript,
        "Return a page of the conversation as HTML, by default the latest",
        query=TranscriptQuery,
    ),
    operation("POST", "/v1/render", render_text, "Render Markdown or code as HTML", body=RenderRequest),
)
