"""Ports for servers that take a number and cannot say which one they got."""

import random
import socket
from contextlib import suppress

BELOW_EPHEMERAL = range(20_000, 32_000)
"""The kernel gives none of these to a socket that asks for any port, so no other test takes it meanwhile."""


def free_port() -> int:
    while True:
        port = random.SystemRandom().choice(BELOW_EPHEMERAL)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
