from collections.abc import Sequence

class ContextInfo:
    mentionedJID: Sequence[str]

class _Part:
    text: str
    caption: str
    fileName: str
    mimetype: str
    contextInfo: ContextInfo

class Message:
    conversation: str
    extendedTextMessage: _Part
    imageMessage: _Part
    videoMessage: _Part
    audioMessage: _Part
    documentMessage: _Part
    stickerMessage: _Part
    def __init__(self, *, conversation: str = "") -> None: ...
    def HasField(self, name: str) -> bool: ...
    def SerializeToString(self) -> bytes: ...
    @staticmethod
    def FromString(data: bytes) -> Message: ...
