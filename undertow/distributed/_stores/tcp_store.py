"""TCPStore: a store that one process serves to the others over TCP.

The server listens on the address that it was given and on no other, on loopback by default. Each connection starts with a proof, in both
directions, that the other side knows the token of the job; the token itself is never sent. See Note [The Token Of A Job].
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import struct
import threading
import time
from datetime import timedelta

from undertow.distributed._stores.store import DEFAULT_TIMEOUT, Shared, Store
from undertow.distributed._transports.interface import DistNetworkError, DistStoreError

TOKEN_VARIABLE = "UNDERTOW_STORE_TOKEN"
_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 28  # bytes of one message
_NONCE = 32
_HANDSHAKE_SECONDS = 10.0
_RETRY_SECONDS = 0.05


# Note [The Token Of A Job]
# The launcher draws a token and gives it to its processes in the environment. Processes that were started otherwise (a program's own
# multiprocessing, on one host) share a file in the user's cache folder that only this user can read; it is drawn once. A cluster without a
# shared home folder sets the variable on every host.
def token() -> bytes:
    """Return the secret that the processes of a job share."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given:
        return given.encode()
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "undertow")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "store_token")
    draft = f"{path}.{os.getpid()}.{secrets.token_hex(4)}"
    if not os.path.exists(path):
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.link(draft, path)
        os.unlink(draft)
    status = os.stat(path)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise DistStoreError(f"TCPStore: {path} can be read by others; delete it, or set {TOKEN_VARIABLE} on every host")
    with open(path, "rb") as file:
        return file.read()


def _receive(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _send_message(connection: socket.socket, parts: list[bytes]) -> None:
    body = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    connection.sendall(_LENGTH.pack(len(body)) + body)


def _receive_message(connection: socket.socket) -> list[bytes]:
    (total,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
    if total > _LONGEST:
        raise ConnectionError(f"a message of {total} bytes is longer than a store accepts")
    body, parts, position = _receive(connection, total), [], 0
    while position < total:
        if position + _LENGTH.size > total:
            raise ConnectionError("a message is not complete")
        (length,) = _LENGTH.unpack_from(body, position)
        position += _LENGTH.size
        if position + length > total:
            raise ConnectionError("a message is not complete")
        parts.append(body[position : position + length])
        position += length
    return parts


def _proof(secret: bytes, role: bytes, mine: bytes, theirs: bytes) -> bytes:
    return hmac.new(secret, role + mine + theirs, hashlib.sha256).digest()


def _shake_hands(connection: socket.socket, secret: bytes, role: bytes, other: bytes) -> None:
    """Exchange proofs of the token; raise ConnectionError if the other side does not know it."""
    mine = secrets.token_bytes(_NONCE)
    connection.sendall(mine)
    theirs = _receive(connection, _NONCE)
    connection.sendall(_proof(secret, role, mine, theirs))
    if not hmac.compare_digest(_receive(connection, hashlib.sha256().digest_size), _proof(secret, other, theirs, mine)):
        raise ConnectionError("the other side does not know the token of this job")


class _Server:
    """Serves one table to authenticated connections, one thread each."""

    def __init__(self, host: str, port: int, listener: int | None) -> None:
        self._shared, self._secret = Shared(), token()
        if listener is not None:
            self._socket = socket.socket(fileno=listener)
        else:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._socket = socket.socket(family, kind, protocol)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                self._socket.bind(address)
            except OSError as error:
                self._socket.close()
                raise DistNetworkError(f"The server socket has failed to listen on {host}:{port}: {error.strerror}") from None
        self._socket.listen(512)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name="undertow-store", daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # close() ends it
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(connection,), name="undertow-store", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_HANDSHAKE_SECONDS)
            _shake_hands(connection, self._secret, b"server", b"client")
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                command, timeout, *arguments = _receive_message(connection)
                try:
                    found = self._shared.run(command.decode(), arguments, float(timeout))
                except (ValueError, IndexError) as error:
                    _send_message(connection, [b"error", str(error).encode()])
                    continue
                _send_message(connection, [b"none"] if found is None else [b"found", *found])

    def close(self) -> None:
        self._socket.close()


class TCPStore(Store):
    """A store that the process with `is_master=True` serves; the others connect to it. `port` 0 chooses a free one.

    >>> store = TCPStore("localhost", 0, is_master=True)
    >>> store.set("color", "blue")
    >>> TCPStore("localhost", store.port).get("color")
    b'blue'
    """

    def __init__(
        self,
        host_name: str = "localhost",
        port: int = 0,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        if not 0 <= port < 1 << 16:
            raise ValueError(f"TCPStore: port must be between 0 and 65535, but got {port}")
        self._host, self._timeout = "127.0.0.1" if host_name == "localhost" else host_name, timeout
        self._server = _Server(self._host, port, master_listen_fd) if is_master else None
        self._port = self._server.port if self._server is not None else port
        self._lock = threading.Lock()  # guards the connection: one question and its answer at a time
        self._connection = self._connect()
        if world_size is not None and world_size > 0:
            joined = self.add("\x01joined", 1)
            if joined >= world_size:
                self.set("\x01all", b"")
            if wait_for_workers and is_master:
                self.wait(["\x01all"], timeout)

    def _connect(self) -> socket.socket:
        end = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                connection = socket.create_connection((self._host, self._port), timeout=_HANDSHAKE_SECONDS)
                break
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"The client socket has timed out after {self._timeout.total_seconds() * 1000:.0f}ms while trying to connect to "
                        f"({self._host}, {self._port}): {error}"
                    ) from None
                time.sleep(_RETRY_SECONDS)
        try:
            _shake_hands(connection, token(), b"client", b"server")
        except OSError as error:
            connection.close()
            raise DistNetworkError(f"TCPStore: {self._host}:{self._port} is not the store of this job: {error}; see {TOKEN_VARIABLE}") from None
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    @property
    def host(self) -> str:
        """The address of the server."""
        return self._host

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._port

    def _run(self, command: str, arguments: list[bytes], timeout: float) -> list[bytes] | None:
        with self._lock:
            try:
                self._connection.settimeout(timeout + _HANDSHAKE_SECONDS)
                _send_message(self._connection, [command.encode(), str(timeout).encode(), *arguments])
                kind, *found = _receive_message(self._connection)
            except OSError as error:
                raise DistNetworkError(f"TCPStore: no answer from {self._host}:{self._port}: {error}") from None
        if kind == b"error":
            raise ValueError(found[0].decode())
        return None if kind == b"none" else found

    def list_keys(self) -> list[str]:
        """Return all keys that programs have set."""
        return [key for key in super().list_keys() if not key.startswith("\x01")]

    def clone(self) -> TCPStore:
        """Return another connection to the same server."""
        other = TCPStore(self._host, self._port, timeout=self._timeout)
        other._server = self._server
        return other

    def __del__(self) -> None:
        if "_connection" in vars(self):
            self._connection.close()
