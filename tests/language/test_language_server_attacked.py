"""A client that says anything at all: every request is answered, and the server lives."""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

ROOT = Path(__file__).resolve().parents[2]
URI = (ROOT / "models" / "capacity" / "unsaved.mrspec").as_uri()
BEHIND = "param a\f= 1  # \u2028 \U0001f600\n"
TEXT = f'problem capacity "x"\n{BEHIND}class "\U0001f600 \U0001f600" {{ jobs = 4..peak }}\nparam peak = 6\n'


class Client:
    """JSON-RPC by hand, so that nothing keeps it from being wrong."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mrdsl", "lsp"],
            stdin=subprocess.PIPE,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.kept, self.count = b"", 0
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.note("initialized", {})
        self.note(
            "textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "mrspec", "version": 1, "text": TEXT}}
        )

    def bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        body = json.dumps(message).encode()
        self.bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def note(self, method: str, parameters: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": parameters})

    def request(self, method: str, parameters: object) -> dict[str, Any]:
        self.count += 1
        self.send({"jsonrpc": "2.0", "id": self.count, "method": method, "params": parameters})
        while True:
            message = self.read()
            if message.get("id") == self.count and "method" not in message:
                return message

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        end = time.monotonic() + 60
        while time.monotonic() < end:
            head, blank, rest = self.kept.partition(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"Length" in line), 0)
            if blank and len(rest) >= length:
                self.kept = rest[length:]
                found: dict[str, Any] = json.loads(rest[:length])
                return found
            if select.select([self.process.stdout], [], [], 1)[0]:
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                assert more, "the server has ended"
                self.kept += more
        raise AssertionError("no answer")

    def at(self, method: str, line: Any, character: Any, uri: str = URI, **more: Any) -> dict[str, Any]:
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more}
        return self.request(f"textDocument/{method}", place)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.process.kill()
    _, said = made.process.communicate()
    assert b"Traceback" not in said


@pytest.fixture(autouse=True)
def _lives(client: Client) -> Iterator[None]:
    """After whatever was said: a document that is open is still served, at the right place."""
    yield
    assert client.at("definition", 2, TEXT.split("\n")[2].index("peak") + 3)["result"]["range"] == {
        "start": {"line": 3, "character": 6},
        "end": {"line": 3, "character": 10},
    }


@pytest.mark.parametrize("line", [-1, 0, 2, 99, 2**31 - 1, 2**31, 2**63, 10**400, -(10**400)])
@pytest.mark.parametrize("method", ["hover", "definition", "completion", "rename"])
def test_any_position_gets_an_answer(client: Client, method: str, line: int) -> None:
    for place in ((line, 0), (0, line), (line, line)):
        assert "result" in client.at(method, *place, newName="new")


@pytest.mark.parametrize("line", ["a", None, [], {}, True, float("nan")])
def test_what_is_no_position_is_refused(client: Client, line: object) -> None:
    assert {"result", "error"} & set(client.at("hover", line, 0))


@pytest.mark.parametrize(
    "uri", ["file:///nowhere/x.mrspec", "untitled:1", "", "file:///dev/zero", "http://a/b", "file:///" + "a" * 5000]
)
def test_a_document_that_is_not_open(client: Client, uri: str) -> None:
    assert client.at("hover", 0, 0, uri)["result"] is None
    assert (
        client.request(
            "textDocument/formatting", {"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": True}}
        )["result"]
        is None
    )
    client.note(
        "textDocument/didChange",
        {
            "textDocument": {"uri": uri, "version": 2},
            "contentChanges": [
                {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "x"}
            ],
        },
    )
    client.note("textDocument/didClose", {"textDocument": {"uri": uri}})


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 5\r\n\r\nabcde",
        b"garbage\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"\0\xff\r\n\r\n",
        b"Content-Length: 99999999999999\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 10000\r\n\r\n" + b"[" * 10000,
        b'Content-Length: 22\r\n\r\n{"id":{},"method":"x"}',
        b"Content-Length: 99999999999999999999999\r\n\r\n",
    ],
)
def test_what_is_no_message(client: Client, data: bytes) -> None:
    client.bytes(data)


def test_random_bytes(client: Client) -> None:
    """Each ends with an empty line, as a message does; one in three has a true header."""
    draw = random.Random(14)
    for number in range(60):
        noise = draw.randbytes(draw.randint(0, 200))
        client.bytes((b"Content-Length: %d\r\n\r\n" % len(noise) if number % 3 == 0 else b"") + noise + b"\r\n\r\n")


def test_columns_behind_signs_of_two_units(client: Client) -> None:
    """Both directions: a place of the client's is found, and the places that are answered are the client's."""
    line = TEXT.split("\n")[2]
    for character in range(line.index("peak") + 2, line.index("peak") + 6):
        edits = client.at("rename", 2, character, newName="top")["result"]["changes"][URI]
        places = sorted(
            (e["range"]["start"]["line"], e["range"]["start"]["character"], e["range"]["end"]["character"])
            for e in edits
        )
        assert places == [(2, line.index("peak") + 2, line.index("peak") + 6), (3, 6, 10)]
    assert client.at("rename", 2, line.index("peak") + 1, newName="top")["result"] is None


def test_a_document_that_is_too_long(client: Client) -> None:
    """It is told so at once, and every request is answered; what is cut down again is checked."""
    uri = URI.replace("unsaved", "long")
    text = "problem capacity\n" + "class a { x = = 3 }\n" * 60_000
    client.note(
        "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "mrspec", "version": 1, "text": text}}
    )
    assert [one["code"] for one in published(client, uri)] == ["unreadable-file"]
    for method in ("hover", "definition", "completion", "rename"):
        assert "result" in client.at(method, 3, 7, uri, newName="new")
    client.note(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "problem nothing\n"}]},
    )
    assert [one["code"] for one in published(client, uri)] == ["unknown-problem"]
    client.note("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert published(client, uri) == []


def test_a_name_that_there_is_cannot_be_had(client: Client) -> None:
    line = TEXT.split("\n")[2]
    refused = client.at("rename", 2, line.index("peak") + 3, newName="a")
    assert "there is a `a` already" in refused["error"]["message"]


def published(client: Client, uri: str) -> list[Any]:
    """The diagnostics that come next for a document."""
    while True:
        message = client.read()
        if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
            found: list[Any] = message["params"]["diagnostics"]
            return found
