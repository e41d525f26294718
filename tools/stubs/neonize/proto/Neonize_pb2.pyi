from neonize.proto.waE2E import WAWebProtobufsE2E_pb2

class JID:
    User: str
    Server: str
    def __init__(self, *, User: str = "", Server: str = "") -> None: ...

_JID = JID

class Device:
    JID: _JID
    LID: _JID

class MessageSource:
    Chat: JID
    Sender: JID
    SenderAlt: JID
    IsFromMe: bool
    IsGroup: bool

_Source = MessageSource

class MessageInfo:
    ID: str
    Pushname: str
    Timestamp: int
    MessageSource: _Source

class Message:
    Info: MessageInfo
    Message: WAWebProtobufsE2E_pb2.Message

class SendResponse:
    ID: str

class Connected: ...
class Disconnected: ...
class LoggedOut: ...
