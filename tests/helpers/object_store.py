"""An S3 server over HTTP, of moto, behind a proxy that makes requests fail by a seed.

``python -m tests.helpers.object_store`` prints the port of the proxy; ``POST /faults/SEED/SHARE`` sets the share of
requests with a fault. It ends when its standard input does.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

BUCKET = "runs"
FAULTS = ("refused", "lost", "cut", "half", "slow", "twice", "silent")
"""Before it is carried out, or after; an answer or a request cut off; late; carried out twice; never answered."""


class Proxy(http.server.BaseHTTPRequestHandler):
    """Forwards requests to the server, each perhaps with a fault."""

    protocol_version = "HTTP/1.1"
    server_port: int
    chance, share, one, creating = random.Random(0), 0.0, threading.Lock(), threading.Lock()

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        # moto looks whether there is an object and writes it in two steps
        with self.creating if self.headers.get("If-None-Match") else contextlib.nullcontext():
            server = http.client.HTTPConnection("127.0.0.1", self.server_port)
            server.request(self.command, self.path, body, dict(self.headers.items()))
            answer = server.getresponse()
            found = answer.status, answer.getheaders(), answer.read()
            server.close()
        return found

    def _any(self) -> None:
        if self.path.startswith("/faults/"):
            type(self).chance, type(self).share = random.Random(self.path.split("/")[2]), float(self.path.split("/")[3])
            self._answer(200, [], b"", "")
            return
        with self.one:
            fault = self.chance.choice(FAULTS) if self.chance.random() < self.share else ""
        if self.headers.get("Expect") == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0) // (2 if fault == "half" else 1))
        time.sleep(0.3 if fault == "slow" else 0)
        found: Any = (503, [], b"") if fault in ("refused", "half") else self._forward(body)
        found = self._forward(body) if fault == "twice" else (500, [], b"") if fault == "lost" else found
        self._answer(*found, fault)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, fault: str) -> None:
        if fault not in ("half", "silent"):
            known = {name.title(): value for name, value in headers} | {"Connection": "close"}
            known |= {} if self.command == "HEAD" else {"Content-Length": str(len(body))}
            self.send_response_only(status)
            for name in known.keys() - {"Transfer-Encoding", "Server"}:
                self.send_header(name, known[name])
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
        self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _any  # noqa: N815


class ObjectStore:
    """The server in a process of its own, and the settings with which s3fs and obstore find it."""

    def __init__(self, port: int) -> None:
        self.address = "127.0.0.1", port
        self.settings = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "2",
            "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip
        self._ask("PUT", f"/{BUCKET}")

    def _ask(self, method: str, path: str) -> None:
        proxy = http.client.HTTPConnection(*self.address)
        proxy.request(method, path)
        assert proxy.getresponse().status == 200
        proxy.close()

    @contextlib.contextmanager
    def faults(self, seed: int, share: float) -> Iterator[None]:
        """Have a share of all requests fail, in one way or another."""
        self._ask("POST", f"/faults/{seed}/{share}")
        yield
        self._ask("POST", "/faults/0/0")


@contextlib.contextmanager
def serving() -> Iterator[ObjectStore]:
    """Start the server with an empty bucket, and stop it at the end."""
    command, root = [sys.executable, "-m", __name__], pathlib.Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield ObjectStore(int(process.stdout.readline()))
        process.communicate("")


if __name__ == "__main__":
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    moto.start()
    Proxy.server_port = moto.get_host_and_port()[1]
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    print(proxy.server_port, flush=True)  # noqa: T201
    sys.stdin.read()
    os._exit(0)
