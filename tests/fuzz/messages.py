"""Sessions of a client that says anything, and what must hold of the answers."""

from __future__ import annotations

import io
import json
import random
import re
from typing import Any

from tests.fuzz.making import PIECES, mutated, mutated_bytes
from tests.fuzz.running import HangError, budget

METHODS = ("hover", "definition", "completion", "rename", "formatting", "didOpen", "didChange", "didSave", "didClose")
URIS = ("file:///any/a.mrspec", "file:///any/b.mrspec", "untitled:1", "", "file:///dev/zero", "\x00", "http://[")
NUMBERS = (0, 1, 2, 3, 7, 40, -1, 2**31 - 1, 2**31, 2**63, 10**30, 0.5, None, "1", True, [], {})
LAST = "the last request"
INTERNAL = -32603


def session(draw: random.Random, text: str) -> bytes:
    """An opened document, then messages of which most are nearly sound; noise is no header and ends with a line."""
    stream = [
        _message({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _INITIALIZE}),
        _message({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        _note("didOpen", {"textDocument": {"uri": URIS[0], "languageId": "mrspec", "version": 1, "text": text}}),
    ]
    for number in range(1, draw.randint(2, 12)):
        kind = draw.random()
        if kind < 0.1:
            stream.append(_noise(draw))
        elif kind < 0.25:
            stream.append(_framed(mutated_bytes(draw, json.dumps(_said(draw, number, text)).encode())))
        else:
            stream.append(_message(_said(draw, number, text)))
    return b"".join(stream)


_INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {}}


def _said(draw: random.Random, number: int, text: str) -> dict[str, Any]:
    method = draw.choice(METHODS)
    uri = URIS[0] if draw.random() < 0.8 else draw.choice(URIS)
    document: dict[str, Any] = {"uri": uri, "languageId": "mrspec", "version": number}
    params: dict[str, Any] = {"textDocument": document}
    if method == "didOpen":
        document["text"] = mutated(draw, text)
    elif method == "didChange":
        params["contentChanges"] = [_change(draw, text) for _ in range(draw.randint(0, 2))]
    else:
        params["position"] = _position(draw, text)
        params["newName"] = draw.choice(("new", "a", "cost", *PIECES))
        params["options"] = {"tabSize": draw.choice(NUMBERS), "insertSpaces": True}
    if draw.random() < 0.1:
        params = draw.choice([None, [], 3, {}, {"textDocument": uri}, {"textDocument": None}])  # type: ignore[assignment]
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": f"textDocument/{method}", "params": params}
    if not method.startswith("did") or draw.random() < 0.05:
        message["id"] = number
    return message


def _change(draw: random.Random, text: str) -> dict[str, Any]:
    change: dict[str, Any] = {"text": mutated(draw, text)}
    if draw.random() < 0.2:
        change["range"] = {"start": _position(draw, text), "end": _position(draw, text)}
    return change


def _position(draw: random.Random, text: str) -> dict[str, Any]:
    if draw.random() < 0.2:
        return {"line": draw.choice(NUMBERS), "character": draw.choice(NUMBERS)}
    line = draw.randrange(text.count("\n") + 1)
    return {"line": line, "character": draw.randint(0, len(text.split("\n")[line]) + 1)}


def _noise(draw: random.Random) -> bytes:
    return re.sub(rb"(?i)content-length", b"-", draw.randbytes(draw.randint(0, 60))).replace(b"\n", b"") + b"\r\n\r\n"


def _note(method: str, params: object) -> bytes:
    return _message({"jsonrpc": "2.0", "method": f"textDocument/{method}", "params": params})


def _message(message: object) -> bytes:
    return _framed(json.dumps(message).encode())


def _framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answers_to(data: bytes) -> list[str]:
    """What is wrong with the server's answers: a fault of its own, no answer to what comes last, or no end."""
    from mrdsl.editor.server import serve

    uri = "file:///any/last.mrspec"
    document = {"uri": uri, "languageId": "mrspec", "version": 1, "text": "problem capacity\n"}
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 10}}
    last = _note("didOpen", {"textDocument": document})
    last += _message({"jsonrpc": "2.0", "id": LAST, "method": "textDocument/hover", "params": place})
    said = io.BytesIO()
    try:
        with budget():
            serve(io.BytesIO(data + last), said)
    except HangError:
        return ["no end"]
    except BaseException as failure:
        return [f"{type(failure).__name__} passes: {failure}"]
    found, last_answers = [], 0
    for answer in _messages(said.getvalue()):
        if answer.get("error", {}).get("code") == INTERNAL:
            found.append(f"a fault of mrdsl: {json.dumps(answer)[:800]}")
        if "showMessage" in str(answer.get("method")):
            found.append(f"it tells the user: {json.dumps(answer)[:300]}")
        last_answers += answer.get("id") == LAST and "problem `capacity`" in json.dumps(answer.get("result"))
    return found if last_answers == 1 else [*found, f"{last_answers} answers to the last request"]


def _messages(stream: bytes) -> list[dict[str, Any]]:
    found = []
    while stream:
        head, _, rest = stream.partition(b"\r\n\r\n")
        length = int(next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length")).split(b":")[1])
        found.append(json.loads(rest[:length]))
        stream = rest[length:]
    return found
