"""Language server: JSON-RPC messages, and their answers by the other modules of this package."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Severity, Span, error
from mrdsl.core.version import __version__
from mrdsl.editor import assist, completion
from mrdsl.editor.checking import PAUSE, Checks, Version
from mrdsl.editor.written import Written

LONGEST = 64 << 20
"""Bytes of one message; more are passed over."""
LARGEST = 2**31 - 1
"""The largest line or character of the protocol (``uinteger``)."""
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMETERS, NOT_INITIALIZED = -32700, -32600, -32602, -32002
_HEADER = re.compile(rb"Content-Length: *([0-9]{1,20})[ \t]*\r?\n\Z", re.IGNORECASE)
_LINE = 1 << 16


class Messages:
    """A binary stream of the valid messages, for the server to read from.

    ``understood`` raises for a message without the form of its method; ``is_open`` tests if the document of a URI is
    open.
    """

    def __init__(
        self, source: BinaryIO, answers: BinaryIO, understood: Callable[[bytes], object], is_open: Callable[[str], bool]
    ) -> None:
        self._source, self._answers = source, answers
        self._understood, self._is_open = understood, is_open
        self._ready = [b""]
        self._initialized = self._shut_down = False

    def readline(self) -> bytes:
        """Return a header line of the next message, b"" at the end."""
        if len(self._ready) <= 1:
            body = self._next()
            if body is None:
                return b""
            self._ready = [b"Content-Length: %d\r\n" % len(body), b"\r\n", body]
        return self._ready.pop(0)

    def read(self, size: int) -> bytes:
        """Return the body of the message whose header was read."""
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
        """Return the length in the next header, and skip the text before it; None at the end."""
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
            self._answer(None, PARSE_ERROR, "this is not JSON")
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
        """Return True if a message comes before ``initialize``, repeats it, or comes after ``shutdown``.

        Such a request gets an error and a notification has no effect; ``exit`` is always valid (LSP 3.17, lifecycle
        messages).
        """
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
    """Return the same message with every line and character within the limits of the protocol."""
    if isinstance(part, dict):
        return {key: _clamped(value) if key in ("line", "character") else _within(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_within(one) for one in part]
    return part


def _clamped(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, 0), LARGEST)
    return value


_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_KINDS = {
    "item": types.CompletionItemKind.Property,
    "block": types.CompletionItemKind.Struct,
    "unit": types.CompletionItemKind.Unit,
    "value": types.CompletionItemKind.Value,
    "param": types.CompletionItemKind.Variable,
}
REQUEST_FAILED = -32803


class Protocol(LanguageServerProtocol):  # type: ignore[misc]
    """The library's protocol, which keeps the future of a message until it is done.

    The library itself keeps those of notifications, so that a server grows with every edit.
    """

    def _execute_handler(self, msg_id: Any, *args: Any, **kwargs: Any) -> None:
        super()._execute_handler(msg_id, *args, **kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda done: self._forget(msg_id, done))

    def _forget(self, msg_id: Any, done: Any) -> None:
        if self._request_futures.get(msg_id) is done:
            del self._request_futures[msg_id]


class Server(LanguageServer):  # type: ignore[misc]
    """The library's server with what mrdsl keeps of each document: its newest version, read once."""

    def __init__(self) -> None:
        full = types.TextDocumentSyncKind.Full
        super().__init__("mrdsl", __version__, text_document_sync_kind=full, protocol_cls=Protocol)
        self.checks = Checks(self._publish)
        self._written: dict[str, Written] = {}

    def written(self, uri: str) -> Written:
        """Return the newest version of a document."""
        text = self.workspace.get_text_document(uri).source
        found = self._written.get(uri)
        if found is None or found.text is not text:
            found = self._written[uri] = Written(text, found)
        return found

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._written.pop(uri, None)
        self.checks.forget(uri)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def check(self, uri: str, pause: float = 0.0) -> None:
        """Has a document's newest version checked."""
        version = self.newest(uri)
        if not self.written(uri).too_long:
            self.checks.ask(version, pause)
            return
        self.checks.forget(uri)
        message = f"this document has more than {budgets.EDITED_BYTES >> 20} MB, the most that an editor checks"
        hint = "run `mrdsl check`, or move large tables into separate files"
        self._publish(version, (error("unreadable-file", message, Span(version.name, 1, 1, 1, 2), hint),))

    def newest(self, uri: str) -> Version:
        """Return a document's newest version, as the checker takes it."""
        document = self.workspace.get_text_document(uri)
        return Version(uri, document.version or 0, to_fs_path(uri) or "untitled.mrspec", document.source)

    def encoding(self) -> str:
        """Return the unit in which a client counts columns."""
        return str(getattr(self.workspace.position_encoding, "value", None) or "utf-16")

    def range(self, written: Written, span: Span) -> types.Range:
        """Return a place as a client has it."""
        encoding = self.encoding()
        start = types.Position(span.line - 1, written.units(span.line, span.column, encoding))
        end = types.Position(span.end_line - 1, written.units(span.end_line, span.end_column, encoding))
        return types.Range(start, end)

    def place(self, written: Written, position: types.Position) -> tuple[int, int]:
        """Return a client's position (units from 0) as line and column from 1."""
        line = min(position.line, len(written.lines) - 1) + 1
        return line, written.column(line, position.character, self.encoding())

    def _publish(self, version: Version, found: tuple[Diagnostic, ...]) -> None:
        written = self.written(version.uri)
        diagnostics = [self._diagnostic(written, one, version.name) for one in found]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=version.uri, diagnostics=diagnostics, version=version.number)
        )

    def _diagnostic(self, written: Written, found: Diagnostic, name: str) -> types.Diagnostic:
        here = found.span is not None and found.span.file == name
        top = types.Range(types.Position(0, 0), types.Position(0, 1))
        place = self.range(written, found.span) if here and found.span is not None else top
        text = found.message + (f"\n{found.hint}" if found.hint else "")
        message = text if here or found.span is None else f"{found.span}: {text}"
        return types.Diagnostic(place, message, severity=_SEVERITIES[found.severity], code=found.code, source="mrdsl")


def server() -> Server:
    """Return a language server with every feature registered.

    Documents are sent whole at every change: the edits of the library count line ends that the language does not have.
    """
    made = Server()
    for method, handler in _FEATURES.items():
        made.feature(method)(handler)
    made.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["{", "=", " ", "("]))(
        _complete
    )
    return made


def serve(source: BinaryIO, answers: BinaryIO) -> None:
    """Serve one client until it leaves; see :class:`mrdsl.editor.server.Messages`."""
    made = server()
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it tells of a client's mistakes by tracebacks

    def understood(body: bytes) -> None:
        message = json.loads(body, object_hook=made.protocol.structure_message)
        if isinstance(message, dict):
            raise ValueError("it has no `jsonrpc` 2.0")
        document = getattr(getattr(message, "params", None), "text_document", None)
        if document is not None:
            to_fs_path(document.uri)  # the library stumbles over what is no URI only when it has taken it

    def is_open(uri: str) -> bool:
        try:
            return uri in made.workspace.text_documents
        except RuntimeError:  # no workspace before the client has said who it is
            return False

    try:
        made.start_io(Messages(source, answers, understood, is_open), answers)
    finally:
        made.checks.close()


def _opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    ls.check(params.text_document.uri)


def _changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    ls.check(params.text_document.uri, PAUSE)


def _saved(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    ls.check(params.text_document.uri)


def _closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.forget(params.text_document.uri)


def _hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    written = ls.written(params.text_document.uri)
    text = assist.hover(written, *ls.place(written, params.position))
    return None if text is None else types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))


def _complete(ls: Server, params: types.CompletionParams) -> types.CompletionList:
    written = ls.written(params.text_document.uri)
    items = [
        types.CompletionItem(
            one.label,
            kind=_KINDS[one.kind],
            detail=one.detail,
            insert_text=one.insert,
            insert_text_format=types.InsertTextFormat.Snippet,
        )
        for one in completion.complete(written, *ls.place(written, params.position))
    ]
    return types.CompletionList(is_incomplete=False, items=items)


def _define(ls: Server, params: types.DefinitionParams) -> types.Location | None:
    uri = params.text_document.uri
    written = ls.written(uri)
    definition, _ = assist.occurrences(written, *ls.place(written, params.position))
    return None if definition is None else types.Location(uri, ls.range(written, definition))


def _rename(ls: Server, params: types.RenameParams) -> types.WorkspaceEdit | None:
    uri = params.text_document.uri
    written = ls.written(uri)
    try:
        new, uses = assist.rename(written, *ls.place(written, params.position), params.new_name)
    except ValueError as reason:
        raise JsonRpcException(f"not renamed: {reason}", REQUEST_FAILED) from None
    if not uses:
        return None
    return types.WorkspaceEdit(changes={uri: [types.TextEdit(ls.range(written, span), new) for span in uses]})


async def _format(ls: Server, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    uri = params.text_document.uri
    written = ls.written(uri)
    if written.too_long:
        return None
    made = await ls.checks.format(ls.newest(uri))
    if made is None or made == written.text or ls.written(uri) is not written:
        return None
    end = types.Position(len(written.lines) - 1, written.units(len(written.lines), 2**31, ls.encoding()))
    return [types.TextEdit(types.Range(types.Position(0, 0), end), made)]


_FEATURES = {
    types.TEXT_DOCUMENT_DID_OPEN: _opened,
    types.TEXT_DOCUMENT_DID_CHANGE: _changed,
    types.TEXT_DOCUMENT_DID_SAVE: _saved,
    types.TEXT_DOCUMENT_DID_CLOSE: _closed,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DEFINITION: _define,
    types.TEXT_DOCUMENT_RENAME: _rename,
    types.TEXT_DOCUMENT_FORMATTING: _format,
}
