"""Connects stdin and stdout to the socket of a debug adapter, from inside the sandbox it runs in.

Run as a program with the address (`PORT@HOST`, or the path of a Unix socket) and the seconds to wait for it.
"""

import os
import socket
import sys
import threading
import time
from contextlib import suppress

CHUNK_BYTES = 64 * 1024
RETRY_S = 0.02


def connect(address: str, seconds: float) -> socket.socket:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if address.startswith("/"):
                link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                link.connect(address)
                return link
            port, _, host = address.partition("@")
            return socket.create_connection(
                (host, int(port)), timeout=max(deadline - time.monotonic(), RETRY_S)
            )
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"no debug adapter at {address}: {error.strerror or error}")
            time.sleep(RETRY_S)


def main() -> None:
    link = connect(sys.argv[1], float(sys.argv[2]))
    link.settimeout(None)

    def send() -> None:
        with suppress(OSError):
            while data := os.read(0, CHUNK_BYTES):
                link.sendall(data)
        os._exit(0)

    threading.Thread(target=send, daemon=True).start()
    with suppress(OSError):
        while data := link.recv(CHUNK_BYTES):
            while data:
                data = data[os.write(1, data) :]
    os._exit(0)


if __name__ == "__main__":
    main()
