"""What comes from the client, before the server sees it: whole JSON-RPC messages, with places that a text can have.

Whatever cannot be understood is answered where it asks for an answer, and the next message is looked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, BinaryIO

LONGEST = 64 << 20
"""Bytes of one message; more are passed over."""
LARGEST = 2**31 - 1
"""The largest line or character of the protocol (``uinteger``)."""
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMETERS, NOT_INITIALIZED = -32700, -32600, -32602, -32002
_HEADER = re.compile(rb"Content-Length: *(\d{1,20})[ \t]*\r?\n\Z", re.IGNORECASE)
_LINE = 1 << 16


class Messages:
    """A binary stream of the messages that are sound, for the server to read from.

    ``understood`` raises where a message has not the form of its method; ``is_open`` tells of a document's URI.
    """

    def __init__(
        self, source: BinaryIO, answers: BinaryIO, understood: Callable[[bytes], object], is_open: Callable[[str], bool]
    ) -> None:
        self._source, self._answers = source, answers
        self._understood, self._is_open = understood, is_open
        self._ready = [b""]
        self._initialized = self._shut_down = False

    def readline(self) -> bytes:
        """A header line of the next message, b"" at the end."""
        if len(self._ready) <= 1:
            body = self._next()
            if body is None:
                return b""
            self._ready = [b"Content-Length: %d\r\n" % len(body), b"\r\n", body]
        return self._ready.pop(0)

    def read(self, size: int) -> bytes:
        """The body of the message whose header was read."""
        body, self._ready = self._ready[-1], [b""]
        return body[:size]

    def _next(self) -> bytes | None:
        while True:
            length = self._length()
            if length is None:
                return None
            if not 0 < length <= LONGEST:
                self._answer(None, INVALID_REQUEST, f"a message has 1 to {LONGEST} bytes, not {length}")
                continue
            body = self._source.read(length)
            if len(body) < length:
                return None
            sound = self._sound(body)
            if sound is not None:
                return sound

    def _length(self) -> int | None:
        """The length that the next header tells; what stands before a header is passed over. None at the end."""
        length: int | None = None
        while line := self._source.readline(_LINE):
            match = _HEADER.search(line)
            if match is not None:
                length = int(match[1])
                if length > LONGEST:
                    return length
            elif length is not None and not line.strip():
                return length
        return None

    def _sound(self, body: bytes) -> bytes | None:
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._answer(None, PARSE_ERROR, "this is no JSON")
            return None
        if not isinstance(message, dict) or not isinstance(message.get("id", 0), int | str):
            self._answer(None, INVALID_REQUEST, "a message is one object, its id a number or a text")
            return None
        if not isinstance(message.get("method"), str):
            if "result" in message or "error" in message:
                return body
            self._refused(message, "it has no method")
            return None
        if self._out_of_turn(message):
            return None
        try:
            body = json.dumps(_within(message)).encode()
            if self._of_closed_document(message):
                if "id" in message:
                    self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
                return None
            self._understood(body)
        except (Exception, RecursionError) as problem:  # whatever the library raises on parameters of another form
            self._refused(message, f"{type(problem).__name__} in the parameters")
            return None
        self._initialized |= message["method"] == "initialize"
        self._shut_down |= message["method"] == "shutdown"
        return body

    def _out_of_turn(self, message: dict[str, Any]) -> bool:
        """Whether a message comes before ``initialize``, again, or after ``shutdown``: a request is answered by an
        error, a notification has no effect; ``exit`` is always in turn (LSP 3.17, lifecycle messages)."""
        method = message["method"]
        if method == "exit":
            return False
        if self._shut_down:
            code, reason = INVALID_REQUEST, "the server was shut down"
        elif not self._initialized and method != "initialize":
            code, reason = NOT_INITIALIZED, "the server is not initialized"
        elif self._initialized and method == "initialize":
            code, reason = INVALID_REQUEST, "the server is initialized already"
        else:
            return False
        if "id" in message:
            self._answer(message["id"], code, reason)
        return True

    def _refused(self, message: dict[str, Any], reason: str) -> None:
        if "id" in message:
            code = INVALID_PARAMETERS if "method" in message else INVALID_REQUEST
            self._answer(message["id"], code, f"this message cannot be understood: {reason}")

    def _of_closed_document(self, message: dict[str, Any]) -> bool:
        method = message["method"]
        parameters = message.get("params")
        if not method.startswith("textDocument/") or method == "textDocument/didOpen":
            return False
        if not isinstance(parameters, dict):
            return False
        document = parameters.get("textDocument")
        uri = document.get("uri") if isinstance(document, dict) else None
        return isinstance(uri, str) and not self._is_open(uri)

    def _answer(self, identity: object, code: int, message: str) -> None:
        self._send({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self._answers.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._answers.flush()


def _within(part: Any) -> Any:
    """The same message with every line and character within what the protocol knows."""
    if isinstance(part, dict):
        return {key: _clamped(value) if key in ("line", "character") else _within(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_within(one) for one in part]
    return part


def _clamped(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, 0), LARGEST)
    return value
