"""Rebuilds the streaming message from its deltas, so that the pipe need not carry it each time."""

from typing import Any

Event = dict[str, Any]


class MessageBuilder:
    """Feed it every event in order."""

    def __init__(self) -> None:
        self._message: Event = {}

    def complete(self, event: Event) -> Event:
        """The event; an update gets the message so far, unless it has one. The message is always the same
        object, which grows."""
        match event.get("type"):
            case "message_start" if event["message"].get("role") == "assistant":
                self._message = {**event["message"], "content": [*event["message"]["content"]]}
            case "message_update" if "message" not in event:
                self._apply(event["assistantMessageEvent"])
                return {**event, "message": self._message}
        return event

    def _apply(self, update: Event) -> None:
        content: list[Event] = self._message.setdefault("content", [])
        index = update.get("contentIndex", -1)
        while len(content) <= index:
            content.append({})
        block = content[index] if content else {}
        match update["type"]:
            case "text_start":
                content[index] = {"type": "text", "text": ""}
            case "thinking_start":
                content[index] = {"type": "thinking", "thinking": ""}
            case "toolcall_start":
                call = {"type": "toolCall", "id": update.get("id", ""), "name": update.get("toolName", "")}
                content[index] = {**call, "arguments": {}}
            case "text_delta":
                block["text"] += update["delta"]
            case "thinking_delta":
                block["thinking"] += update["delta"]
            case "text_end":
                block["text"] = update["content"]
            case "thinking_end":
                block["thinking"] = update["content"]
            case "toolcall_end":
                content[index] = update["toolCall"]
            case "done":
                self._message = update["message"]
            case "error":
                self._message = update["error"]
