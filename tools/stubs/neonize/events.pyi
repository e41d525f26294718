from neonize.proto.Neonize_pb2 import Connected as ConnectedEv
from neonize.proto.Neonize_pb2 import Disconnected as DisconnectedEv
from neonize.proto.Neonize_pb2 import LoggedOut as LoggedOutEv
from neonize.proto.Neonize_pb2 import Message as MessageEv

__all__ = ["ConnectedEv", "DisconnectedEv", "LoggedOutEv", "MessageEv"]
