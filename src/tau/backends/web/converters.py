"""Converts pages with what the user chose: trafilatura, lynx, or the services of Parallel and Jina."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryFile

from msgspec import DecodeError, json

from tau.backends.web.addresses import WebError, WebUrl, parse_web_url
from tau.backends.web.client import GuardedRequest, WebClient
from tau.base.programs import find_program
from tau.base.run import OUTSIDE, Limits, Runner, capture
from tau.base.sizes import MIB
from tau.base.text import clean_line, shortened

SECONDS = 15.0
REMOTE_HOSTS = {"jina": "r.jina.ai", "parallel": "api.parallel.ai"}
PROGRAMS = {
    "trafilatura": ("trafilatura", "--markdown", "--formatting", "--links"),
    "lynx": ("lynx", "-dump", "-nolist", "-width=120", "-force_html", "-stdin"),
}


async def read_locally(name: str, source: str, run: Runner) -> str:
    """Raises WebError."""
    program = find_program(PROGRAMS[name][0])
    if program is None:
        raise WebError("it is not installed.")
    command = [program, *PROGRAMS[name][1:]]
    data = source.encode("utf-8", "replace")
    with TemporaryFile() as errors:  # warnings are no part of the page
        try:
            async with await run.start(
                command,
                cwd=Path("/"),
                limits=Limits(timeout=SECONDS),
                stdin=data,
                stderr=errors.fileno(),
                sandbox=OUTSIDE,
            ) as process:
                done = await capture(process, max_bytes=16 * MIB)
        except OSError as error:
            raise WebError(f"it cannot be started ({error.strerror}).") from error
        errors.seek(0)
        said = errors.read(MIB).decode("utf-8", "replace").split("\n")
    if done.exit.code != 0:
        last = next((shortened(clean_line(line), 200) for line in reversed(said) if line.strip()), "")
        raise WebError(f"it exited with code {done.exit.code}: {last}".removesuffix(": ") + ".")
    text = done.output.decode("utf-8", "replace")
    if not text.strip():
        raise WebError("it found no text.")
    return text


async def read_remotely(
    name: str, url: WebUrl, client: WebClient, key: Callable[[str], Awaitable[str | None]]
) -> str:
    """Raises WebError."""
    token = await key(name)
    if name == "jina":
        headers = {"accept": "text/plain"} | ({"authorization": f"Bearer {token}"} if token else {})
        response = await client.fetch(
            parse_web_url(f"https://r.jina.ai/{url}"), GuardedRequest(headers=headers)
        )
        if not response.ok:
            raise WebError(f"it answered {response.status}.")
        return response.body.decode("utf-8", "replace")
    if token is None:
        raise WebError("it has no API key; set PARALLEL_API_KEY.")
    body = json.encode({"urls": [str(url)], "excerpts": False, "full_content": True})
    headers = {
        "x-api-key": token,
        "content-type": "application/json",
        "parallel-beta": "search-extract-2025-10-10",
    }
    request = GuardedRequest(method="POST", headers=headers, body=body)
    response = await client.fetch(parse_web_url("https://api.parallel.ai/v1beta/extract"), request)
    try:
        found = json.decode(response.body)["results"][0]
        return str(found.get("full_content") or "\n\n".join(found["excerpts"]))
    except (DecodeError, LookupError, TypeError):
        raise WebError(f"it answered {response.status} without a text.") from None
