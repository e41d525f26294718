"""Formats a text with a language server before it is written."""

import asyncio
from pathlib import Path

from tau.backends.lsp.documents import UNSURE, Document
from tau.backends.lsp.pool import LanguageServers
from tau.backends.lsp.protocol import LspError, TextEdit, convert, to_uri
from tau.base.json_rpc import JsonRpcError
from tau.coding.lsp.workspace_edits import apply_edits

FORMAT_S = 5.0


async def format_text(servers: LanguageServers, path: Path, text: str) -> tuple[str, str]:
    """The formatted text and a note; the text itself if no server can do it in time."""
    for spec in servers.for_file(path):
        if spec.prints_json:
            continue
        try:
            async with asyncio.timeout(FORMAT_S):
                server = await servers.server(spec)
                if not server.provides("documentFormattingProvider", "textDocument/formatting"):
                    continue
                document = server.documents.get(path)
                if document is None:
                    document = Document(path, text, UNSURE)
                    await server.open(document)
                else:
                    document.stamp = UNSURE
                    await server.change(document, text)
                options = {"tabSize": 4, "insertSpaces": True, "trimTrailingWhitespace": True}
                body = {"textDocument": {"uri": to_uri(path)}, "options": options}
                answer = await server.request("textDocument/formatting", body, FORMAT_S)
            edits = convert(answer or [], list[TextEdit], "edit")
            formatted = apply_edits(text, edits, server.encoding, path.name)
        except TimeoutError:
            return text, f"[Not formatted: no answer from {spec.name} in {FORMAT_S:g} s]"
        except (LspError, JsonRpcError) as error:
            return text, f"[Not formatted: {error}]"
        return formatted, f"[Formatted by {spec.name}]" if formatted != text else ""
    return text, ""
