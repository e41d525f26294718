"""An answer while it arrives: each of its parts has a block that grows."""

from tau.ai import stream_events as e
from tau.modes.interactive.transcript.assistant import TextBlock
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.thinking import ThinkingBlock
from tau.modes.interactive.transcript.tool_call import ToolCallState


class StreamingMessage:
    """`take` gives a few words about what the model does now, where that has changed."""

    def __init__(self, story: TranscriptBuilder) -> None:
        self._story = story
        self._parts: dict[int, TextBlock | ThinkingBlock | ToolCallState] = {}

    def append(self, index: int, delta: str) -> None:
        """More of a part: words, thoughts, or arguments."""
        part = self._parts.get(index)
        if isinstance(part, TextBlock | ThinkingBlock):
            part.append(delta)
        elif part is not None:
            part.feed(delta)

    def take(self, event: e.AssistantMessageEvent) -> str:
        match event:
            case e.TextStart(index):
                self._parts[index] = self._story.text()
                return "Writing"
            case e.ThinkingStart(index):
                self._parts[index] = self._story.thinking()
                return "Thinking"
            case e.ToolCallStart(index, id, name):
                self._parts[index] = self._story.call(id, name)
                return f"Writing a call of {name}"
            case e.TextEnd(index, text) | e.ThinkingEnd(index, text):
                part = self._parts.get(index)
                if isinstance(part, TextBlock | ThinkingBlock):
                    part.finish(text)
            case e.ToolCallEnd(index, call):
                part = self._parts.get(index)
                if isinstance(part, ToolCallState):
                    part.complete(call)
        return ""
