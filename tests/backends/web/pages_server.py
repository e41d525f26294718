"""A web server with pages by path; records the requests it got."""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

Answer: TypeAlias = (
    "str | bytes | tuple[int, Mapping[str, str], str | bytes] | Callable[[BaseHTTPRequestHandler], None]"
)


class PagesServer:
    """`pages` maps paths to a body, to a status with headers and body, or to what writes the answer."""

    def __init__(self, pages: Mapping[str, Any]) -> None:
        self.pages = dict(pages)
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.requests.append((self.command, self.path, headers, body))
                page = owner.pages.get(self.path, owner.pages.get(self.path.partition("?")[0]))
                if callable(page):
                    self.close_connection = True
                    page(self)
                    return
                status, more, text = (404, {}, "") if page is None else (200, {}, page)
                if isinstance(page, tuple):
                    status, more, text = page
                data = text.encode() if isinstance(text, str) else text
                self.send_response(status)
                for name, value in {"content-type": "text/html; charset=utf-8", **more}.items():
                    self.send_header(name, value)
                if "content-length" not in more:
                    self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # the client left

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
