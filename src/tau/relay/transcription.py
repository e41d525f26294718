"""Speech to text with a program of the user's."""

from pathlib import Path

from tau.base.run import Limits, LocalRunner, capture
from tau.relay.log import RelayLog
from tau.relay.message import InboundMessage
from tau.relay.settings import TranscribeSettings
from tau.relay.template import fill_all

MAX_TRANSCRIPT_BYTES = 100_000


async def transcribe(
    settings: TranscribeSettings, message: InboundMessage, runner: LocalRunner, log: RelayLog
) -> str:
    """The transcript of a voice message; empty if there is none or the program fails."""
    voice = next((file for file in message.files if file.type.startswith("audio") and file.path), None)
    if voice is None or not settings.command:
        return ""
    argv = fill_all(
        settings.command, {"MediaPath": voice.path, "MediaType": voice.type, "MediaUrl": voice.url}
    )
    try:
        process = await runner.start(
            argv, cwd=Path(voice.path).parent, limits=Limits(timeout=settings.timeout_seconds)
        )
        async with process:
            done = await capture(process, max_bytes=MAX_TRANSCRIPT_BYTES)
    except OSError as error:
        log.write("error", "media", f"The transcription failed: {error}")
        return ""
    if done.exit.code != 0:
        log.write("error", "media", "The transcription failed", exit=done.exit.code)
        return ""
    return done.output.decode("utf-8", "replace").strip()
