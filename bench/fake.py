"""Runs the fake model server of the tests in a separate process, over http or loopback https."""

import http.client
import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent


class FakeServer:
    """Use it in a `with` block."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.certificate = certificate
        command = [sys.executable, "-m", "tests.support.fake_server", "--port", "0"]
        if certificate is not None:
            command += ["--cert", str(certificate)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit("The fake model server did not start.")

    def __enter__(self) -> "FakeServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def script(self, **scenario: Any) -> None:
        """Set the answers to the next requests; clears the request log."""
        self.call("POST", "/_ctl", json.dumps(scenario))

    def requests(self) -> list[dict[str, Any]]:
        answer = self.call("GET", "/_log")
        found: list[dict[str, Any]] = answer["log"] if isinstance(answer, dict) else answer
        return found

    def call(self, method: str, path: str, body: str | None = None) -> Any:
        address = urlsplit(self.url)
        connection: http.client.HTTPConnection
        if self.certificate is None:
            connection = http.client.HTTPConnection(address.netloc, timeout=30)
        else:
            context = ssl.create_default_context(cafile=str(self.certificate))
            connection = http.client.HTTPSConnection(address.netloc, timeout=30, context=context)
        try:
            connection.request(method, path, body)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def make_certificate(folder: Path) -> Path:
    """Create a self-signed certificate for loopback, with its key in the same file."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    names = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both
