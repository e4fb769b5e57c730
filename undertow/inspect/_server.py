"""The server behind the live page: only on the loopback interface, under a random token, for its own page alone.

A page of another site cannot use it: the address has a token that nobody can guess, `Host` must be our own address (which defeats DNS
rebinding), `Origin` and `Sec-Fetch-Site` must be ours if they are sent, and commands need a content type that a form cannot send.
"""

from __future__ import annotations

import gzip
import json
import secrets
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from undertow.inspect._control import CommandError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Session(Protocol):
        """What the server shows and controls."""

        def page(self) -> str: ...
        def recording(self) -> dict[str, Any]: ...
        def poll(self, state: int, event: int, timeout: float) -> dict[str, Any]: ...
        def command(self, request: Any) -> dict[str, Any]: ...


POLL_SECONDS = 20.0
GONE_AFTER_BYE = 5.0
GONE_WITHOUT_POLL = 60.0
_MOST_BODY = 1 << 20
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "connect-src 'self' data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing if a page was closed while it waited for an answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class LiveServer:
    """Serves one session until `close`."""

    def __init__(self, session: Session, port: int = 0) -> None:
        self._session = session
        self.token = secrets.token_urlsafe(24)
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"
        self._last_poll: float | None = None  # None until a page has connected
        self._said_bye = False
        self._end_sent, self._end_fetched = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True, name="undertow.inspect")
        self._thread.start()

    def linger(self) -> None:
        """Wait until a connected page has got the end of the pass, a few seconds at most."""
        if self._last_poll is not None and not self._said_bye and self._end_sent.wait(3.0):
            self._end_fetched.wait(3.0)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def is_abandoned(self) -> bool:
        """Return whether a page was connected and is gone."""
        if self._last_poll is None:
            return False
        return time.monotonic() - self._last_poll > (GONE_AFTER_BYE if self._said_bye else GONE_WITHOUT_POLL)

    def refusal(self, path: str, headers: Any) -> str | None:
        """Return why a request is refused, or None."""
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if headers.get("Host") not in own:
            return "foreign Host"
        origin = headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in own}:
            return "foreign Origin"
        if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and not path.endswith("/"):  # a notebook may embed the page
            return "request of another site"
        token = path.split("/")[1] if path.startswith("/") else ""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return "wrong token"
        return None

    def get(self, name: str, query: dict[str, list[str]]) -> tuple[str, bytes] | None:
        """Return (content type, body) of a GET request; None if there is nothing of that name."""
        if name == "":
            self._seen()
            return "text/html; charset=utf-8", self._session.page().encode()
        if name == "recording":
            self._seen()
            answer = _json(self._session.recording())
            if self._end_sent.is_set():
                self._end_fetched.set()
            return "application/json", answer
        if name == "poll":
            state, event = (_number(query, key) for key in ("state", "event"))
            self._seen()
            found = self._session.poll(state, event, POLL_SECONDS)
            self._seen()
            if found["state"]["status"] in ("finished", "failed", "stopped"):
                self._end_sent.set()
            return "application/json", _json(found)
        return None

    def post(self, name: str, body: Any) -> dict[str, Any] | None:
        """Return the answer to a POST request; None if there is nothing of that name."""
        if name == "bye":
            self._said_bye = True
            self._last_poll = time.monotonic()
            return {"ok": True}
        if name == "command":
            self._seen()
            return {"ok": True, **self._session.command(body)}
        return None

    def _seen(self) -> None:
        self._last_poll, self._said_bye = time.monotonic(), False


def _number(query: dict[str, list[str]], key: str) -> int:
    text = query.get(key, ["0"])[-1]
    if not text.lstrip("-").isdecimal() or len(text) > 18:
        raise CommandError(f"{key} should be a number")
    return int(text)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _handler(live: LiveServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "undertow", ""

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing to the terminal."""

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if len(body) > 10_000 and "gzip" in self.headers.get("Accept-Encoding", ""):
                body = gzip.compress(body, 4)
                self.send_header("Content-Encoding", "gzip")
            for name, value in (
                ("Content-Length", str(len(body))),
                ("Content-Security-Policy", _POLICY),
                ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
                ("X-Content-Type-Options", "nosniff"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _refuse(self, status: int, why: str) -> None:
            self.close_connection = True
            self._send(status, "application/json", _json({"error": why}))

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            why = live.refusal(url.path, self.headers)
            if why is not None:
                return self._refuse(403, why)
            try:
                found = live.get(url.path.split("/", 2)[2] if url.path.count("/") > 1 else "?", parse_qs(url.query))
            except CommandError as error:
                return self._refuse(400, str(error))
            return self._refuse(404, "nothing here") if found is None else self._send(200, *found)

        def do_POST(self) -> None:
            url = urlsplit(self.path)
            why = live.refusal(url.path, self.headers)
            if why is not None:
                return self._refuse(403, why)
            name = url.path.split("/", 2)[2] if url.path.count("/") > 1 else "?"
            length = self.headers.get("Content-Length", "0")
            if not length.isdecimal() or int(length) > _MOST_BODY:
                return self._refuse(413, "the body is too large")
            body = self.rfile.read(int(length))
            if name == "bye":
                return self._send(200, "application/json", _json(live.post(name, None)))
            if self.headers.get_content_type() != "application/json":
                return self._refuse(415, "the body should be application/json")
            try:
                answer = live.post(name, json.loads(body))
            except (ValueError, RecursionError) as error:  # CommandError is one too
                return self._refuse(400, str(error))
            return self._refuse(404, "nothing here") if answer is None else self._send(200, "application/json", _json(answer))

    return Handler
