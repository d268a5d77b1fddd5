"""Object stores over HTTP, behind a proxy that makes requests fail by a seed.

S3 is moto's server, Azure's blobs are Azurite's, Google's Cloud Storage is that of gcp-storage-emulator, to which the
proxy adds the condition that there is no object. ``python -m tests.helpers.object_store PROTOCOL`` prints the port of
the proxy; ``POST /faults/SEED/SHARE`` sets the share of requests with a fault. It ends when its standard input does.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import importlib.util
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

BUCKET, SECRET = "runs", "c2VjcmV0"
NEEDED = {"s3": ("moto", "s3fs"), "gs": ("gcp_storage_emulator", "gcsfs"), "abfs": ("adlfs",)}
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
        headers, path = dict(self.headers.items()), self.path
        # moto looks whether there is an object and writes it in two steps; of Google's, the proxy looks
        is_new = "If-None-Match" in self.headers or "ifGenerationMatch=0" in path
        with self.creating if is_new else contextlib.nullcontext():
            if "uploadType=multipart" in path:  # of which that server takes a last CR for the end of a line
                _, about, content = body.split(b"\n\n", 2)
                name = urllib.parse.quote(json.loads(about.partition(b"\n")[0])["name"], "")
                if is_new and self._ask("GET", f"/storage/v1/b/{BUCKET}/o/{name}")[0] == 200:
                    return 412, [], b""
                path = f"{path.partition('?')[0]}?uploadType=media&name={name}"
                body = content.removesuffix(b"\n--==0==--")
                headers |= {"Content-Type": "application/octet-stream", "Content-Length": str(len(body))}
            return self._ask(self.command, path, body, headers)

    def _ask(self, *request: Any) -> tuple[int, list[tuple[str, str]], bytes]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server_port)) as server:
            server.request(*request)
            answer = server.getresponse()
            return answer.status, answer.getheaders(), answer.read()

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
    """A server in a process of its own, and the settings with which packages find it."""

    def __init__(self, protocol: str, port: int) -> None:
        self.address, at = ("127.0.0.1", port), f"http://127.0.0.1:{port}"
        self.settings = {
            "s3": {
                "AWS_ENDPOINT_URL": at, "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "2", "AWS_ALLOW_HTTP": "true",
            },
            "gs": {"STORAGE_EMULATOR_HOST": at, "NO_GCE_CHECK": "true", "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"},
            "abfs": {
                "AZURE_STORAGE_CONNECTION_STRING":
                f"DefaultEndpointsProtocol=http;AccountName=testing;AccountKey={SECRET};BlobEndpoint={at}/testing",
            },
        }[protocol]  # fmt: skip

    def _set_faults(self, way: str) -> None:
        with contextlib.closing(http.client.HTTPConnection(*self.address)) as proxy:
            proxy.request("POST", f"/faults/{way}")
            assert proxy.getresponse().status == 200

    @contextlib.contextmanager
    def faults(self, seed: int, share: float) -> Iterator[None]:
        """Have a share of all requests fail, in one way or another."""
        self._set_faults(f"{seed}/{share}")
        yield
        self._set_faults("0/0")


@contextlib.contextmanager
def serving(protocol: str) -> Iterator[ObjectStore]:
    """Start a server with an empty bucket, and stop it at the end; skip the test if it or its client is missing."""
    missing = [package for package in NEEDED[protocol] if not importlib.util.find_spec(package)]
    if missing or (protocol == "abfs" and not shutil.which("azurite-blob")):
        pytest.skip(f"{protocol} needs {missing or 'azurite-blob on the PATH'}")
    command, root = [sys.executable, "-m", __name__, protocol], pathlib.Path(__file__).parents[2]
    with (
        subprocess.Popen(command, cwd=root, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True) as process,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert process.stdout is not None
        found = ObjectStore(protocol, int(process.stdout.readline()))
        for name, value in found.settings.items():
            patch.setenv(name, value)
        importlib.import_module("fsspec").filesystem(protocol).mkdir(BUCKET)
        yield found
        process.communicate("")


def _start(protocol: str) -> tuple[int, Callable[[], object]]:
    """Start a server: return its port, and what ends it."""
    if protocol == "abfs":
        options = ["--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
        environment = os.environ | {"AZURITE_ACCOUNTS": f"testing:{SECRET}"}
        azurite = subprocess.Popen(["azurite-blob", *options], env=environment, stdout=-1, text=True)
        assert azurite.stdout is not None
        said = next(line for line in azurite.stdout if "listens on" in line)
        return int(said.rpartition(":")[2]), azurite.kill
    if protocol == "gs":
        google = importlib.import_module("gcp_storage_emulator.server").create_server("127.0.0.1", 0, in_memory=True)
        google.start()
        return google._api._httpd.server_port, google.stop
    moto = importlib.import_module("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    moto.start()
    return moto.get_host_and_port()[1], moto.stop


if __name__ == "__main__":
    Proxy.server_port, stop = _start(sys.argv[1])
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    print(proxy.server_port, flush=True)  # noqa: T201
    sys.stdin.read()
    stop()
    os._exit(0)
