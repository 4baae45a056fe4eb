"""The language server: thin over :mod:`mrdsl.editor.assist`, the checker and the formatter."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import BinaryIO

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from mrdsl.core.diagnostics import Diagnostic, Severity
from mrdsl.core.source import Span
from mrdsl.core.version import __version__
from mrdsl.editor import assist
from mrdsl.editor.messages import Messages
from mrdsl.language.formatting import format_text
from mrdsl.language.loading import load_text

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


def server() -> LanguageServer:
    """A language server with every feature registered.

    Documents are sent whole at every change: the library's own edits count lines where the language has none.
    """
    made = LanguageServer("mrdsl", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    for method, handler in _FEATURES.items():
        made.feature(method)(handler)
    made.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["{", "=", " "]))(_complete)
    return made


def serve(source: BinaryIO, answers: BinaryIO) -> None:
    """Serves one client until it leaves; see :class:`mrdsl.editor.messages.Messages`."""
    made = server()
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it tells of a client's mistakes by tracebacks

    def understood(body: bytes) -> None:
        json.loads(body, object_hook=made.protocol.structure_message)

    def is_open(uri: str) -> bool:
        try:
            return uri in made.workspace.text_documents
        except RuntimeError:  # no workspace before the client has said who it is
            return False

    made.start_io(Messages(source, answers, understood, is_open), answers)


def _opened(ls: LanguageServer, params: types.DidOpenTextDocumentParams) -> None:
    _publish(ls, params.text_document.uri)


def _changed(ls: LanguageServer, params: types.DidChangeTextDocumentParams) -> None:
    _publish(ls, params.text_document.uri)


def _saved(ls: LanguageServer, params: types.DidSaveTextDocumentParams) -> None:
    _publish(ls, params.text_document.uri)


def _closed(ls: LanguageServer, params: types.DidCloseTextDocumentParams) -> None:
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[]))


def _publish(ls: LanguageServer, uri: str) -> None:
    document = ls.workspace.get_text_document(uri)
    name = to_fs_path(uri) or "untitled.mrspec"
    loaded = load_text(document.source, name=name, folder=Path(name).parent)
    own = [_diagnostic(document, d, name) for d in loaded.diagnostics]
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=own))


def _diagnostic(document: TextDocument, found: Diagnostic, name: str) -> types.Diagnostic:
    here = found.span is not None and found.span.file == name
    place = (
        _range(document, found.span)
        if here and found.span is not None
        else types.Range(types.Position(0, 0), types.Position(0, 1))
    )
    text = found.message + (f"\n{found.hint}" if found.hint else "")
    message = text if here or found.span is None else f"{found.span}: {text}"
    return types.Diagnostic(place, message, severity=_SEVERITIES[found.severity], code=found.code, source="mrdsl")


def _hover(ls: LanguageServer, params: types.HoverParams) -> types.Hover | None:
    document = ls.workspace.get_text_document(params.text_document.uri)
    text = assist.hover(document.source, *_place(document, params.position))
    return None if text is None else types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))


def _complete(ls: LanguageServer, params: types.CompletionParams) -> types.CompletionList:
    document = ls.workspace.get_text_document(params.text_document.uri)
    found = assist.complete(document.source, *_place(document, params.position))
    items = [
        types.CompletionItem(
            one.label,
            kind=_KINDS[one.kind],
            detail=one.detail,
            insert_text=one.insert,
            insert_text_format=types.InsertTextFormat.Snippet,
        )
        for one in found
    ]
    return types.CompletionList(is_incomplete=False, items=items)


def _define(ls: LanguageServer, params: types.DefinitionParams) -> types.Location | None:
    uri = params.text_document.uri
    document = ls.workspace.get_text_document(uri)
    definition, _ = assist.occurrences(document.source, *_place(document, params.position))
    return None if definition is None else types.Location(uri, _range(document, definition))


def _rename(ls: LanguageServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
    uri = params.text_document.uri
    document = ls.workspace.get_text_document(uri)
    _, uses = assist.occurrences(document.source, *_place(document, params.position))
    if not uses:
        return None
    new = params.new_name if params.new_name.isidentifier() else f'"{params.new_name}"'
    return types.WorkspaceEdit(changes={uri: [types.TextEdit(_range(document, span), new) for span in uses]})


def _format(ls: LanguageServer, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    document = ls.workspace.get_text_document(params.text_document.uri)
    made, _ = format_text(document.source, "")
    if made is None or made == document.source:
        return None
    lines = _lines(document)
    end = types.Position(len(lines) - 1, document.position_codec.client_num_units(lines[-1]))
    return [types.TextEdit(types.Range(types.Position(0, 0), end), made)]


def _place(document: TextDocument, position: types.Position) -> tuple[int, int]:
    """A client's position (UTF-16 units from 0) as line and column from 1."""
    lines = _lines(document)
    codec = document.position_codec
    line = min(position.line, len(lines) - 1)
    character = min(position.character, codec.client_num_units(lines[line]))
    own = codec.position_from_client_units(lines, types.Position(line, character))
    return own.line + 1, own.character + 1


def _range(document: TextDocument, span: Span) -> types.Range:
    start = types.Position(span.line - 1, span.column - 1)
    end = types.Position(span.end_line - 1, max(span.end_column - 1, 0))
    return document.position_codec.range_to_client_units(_lines(document), types.Range(start, end))


def _lines(document: TextDocument) -> list[str]:
    """The lines as the language counts them: a form feed or a line separator ends none."""
    text: str = document.source
    return text.split("\n")


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
