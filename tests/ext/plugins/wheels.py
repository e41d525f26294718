"""Wheels and npm packages for tests, made here."""

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str = "1.0", *needs: str) -> Path:
    """A package with an entry point, whose extension has a command with the package's name."""
    call = f'tau.command("{name}", lambda args, ctx: ctx.ui.notify("{name} {version}"))'
    code = f"def extension(tau):\n    {call}\n"
    facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", code)
        for file, text in {
            "METADATA": facts + "".join(f"Requires-Dist: {one}\n" for one in needs),
            "WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "entry_points.txt": f"[tau.extensions]\n{name} = {name}\n",
            "RECORD": "",
        }.items():
            archive.writestr(f"{name}-{version}.dist-info/{file}", text)
    return path


@contextmanager
def npm_registry(name: str, folder: Path) -> Iterator[str]:
    """A registry with one package; its address."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(folder, "package")
    data = buffer.getvalue()

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = f"http://{self.headers['Host']}"
            sha512 = base64.b64encode(hashlib.sha512(data).digest()).decode()
            dist = {"tarball": f"{host}/file.tgz", "integrity": f"sha512-{sha512}"}
            version = {"name": name, "version": "1.0.0", "dist": dist}
            listed = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            wanted = {"/file.tgz": data, f"/{name}": json.dumps(listed).encode()}
            body = wanted.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"{}")))
            self.end_headers()
            self.wfile.write(body or b"{}")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
