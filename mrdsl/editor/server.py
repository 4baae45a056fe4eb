"""The language server: thin over :mod:`mrdsl.editor.assist`, completion, and the checker beside it."""

from __future__ import annotations

import json
import logging
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Severity, error
from mrdsl.core.source import Span
from mrdsl.core.version import __version__
from mrdsl.editor import assist, completion
from mrdsl.editor.checking import PAUSE, Checks, Version
from mrdsl.editor.messages import Messages
from mrdsl.editor.written import Written

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
        """The newest version of a document."""
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
        hint = "`mrdsl check` reads it; large tables stand in files of their own"
        self._publish(version, (error("unreadable-file", message, Span(version.name, 1, 1, 1, 2), hint),))

    def newest(self, uri: str) -> Version:
        """A document's newest version, as the checker takes it."""
        document = self.workspace.get_text_document(uri)
        return Version(uri, document.version or 0, to_fs_path(uri) or "untitled.mrspec", document.source)

    def encoding(self) -> str:
        """What a client counts columns in."""
        return str(getattr(self.workspace.position_encoding, "value", None) or "utf-16")

    def range(self, written: Written, span: Span) -> types.Range:
        """A place as a client has it."""
        encoding = self.encoding()
        start = types.Position(span.line - 1, written.units(span.line, span.column, encoding))
        end = types.Position(span.end_line - 1, written.units(span.end_line, span.end_column, encoding))
        return types.Range(start, end)

    def place(self, written: Written, position: types.Position) -> tuple[int, int]:
        """A client's position (units from 0) as line and column from 1."""
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
    """A language server with every feature registered.

    Documents are sent whole at every change: the library's own edits count lines where the language has none.
    """
    made = Server()
    for method, handler in _FEATURES.items():
        made.feature(method)(handler)
    made.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["{", "=", " ", "("]))(
        _complete
    )
    return made


def serve(source: BinaryIO, answers: BinaryIO) -> None:
    """Serves one client until it leaves; see :class:`mrdsl.editor.messages.Messages`."""
    made = server()
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it tells of a client's mistakes by tracebacks

    def understood(body: bytes) -> None:
        message = json.loads(body, object_hook=made.protocol.structure_message)
        if isinstance(message, dict):
            raise ValueError("it does not say that it is JSON-RPC 2.0")
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
