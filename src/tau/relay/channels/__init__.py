"""The channels: one module each, behind the protocol in `channel.py`."""
