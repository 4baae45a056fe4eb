"""A real client talks to ``mrdsl lsp`` over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).resolve().parents[2]
TEXT = """problem capacity "größe 😀"
param peak = 6
vm m5 { on_demand { price = 0.192 USD/h } }
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 4..peak
  deadlin = 10 min
  penalty = 20 USD
}
subject to { admitted(sort) >= 5 }
minimize cost
"""
URI = (ROOT / "models" / "capacity" / "unsaved.mrspec").as_uri()


class Session:
    """A client with an open document; ``published`` collects diagnostics."""

    def __init__(self) -> None:
        self.client = LanguageClient("test", "1")
        self.published: asyncio.Queue[list[types.Diagnostic]] = asyncio.Queue()
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(
            lambda params: self.published.put_nowait(params.diagnostics)
        )

    async def __aenter__(self) -> Session:
        await self.client.start_io(sys.executable, "-m", "mrdsl", "lsp")
        await self.client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=ROOT.as_uri())
        )
        self.client.initialized(types.InitializedParams())
        item = types.TextDocumentItem(URI, "mrspec", 1, TEXT)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    async def diagnostics(self) -> list[types.Diagnostic]:
        return await asyncio.wait_for(self.published.get(), 60)


def at(line: int, word: str) -> types.Position:
    return types.Position(line - 1, TEXT.splitlines()[line - 1].index(word) + 1)


DOCUMENT = types.TextDocumentIdentifier(URI)


def run(scenario: Any) -> None:
    async def whole() -> None:
        async with Session() as session:
            await scenario(session)

    asyncio.run(asyncio.wait_for(whole(), 120))


def test_a_session() -> None:
    async def scenario(session: Session) -> None:
        client = session.client
        found = await session.diagnostics()
        assert [(d.code, d.range.start.line, d.range.start.character) for d in found] == [("unknown-item", 7, 2)]
        hover = await client.text_document_hover_async(types.HoverParams(DOCUMENT, at(9, "penalty")))
        assert hover is not None
        assert "rejected" in hover.contents.value or "turned away" in hover.contents.value
        mended = TEXT.replace("deadlin ", "deadline ")
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(2, URI), [types.TextDocumentContentChangeWholeDocument(mended)]
            )
        )
        assert not await session.diagnostics()
        where = await client.text_document_definition_async(types.DefinitionParams(DOCUMENT, at(7, "peak")))
        assert where.range == types.Range(types.Position(1, 6), types.Position(1, 10))
        edit = await client.text_document_rename_async(types.RenameParams(DOCUMENT, at(4, "sort"), "big sort"))
        lines = sorted(change.range.start.line for change in edit.changes[URI])
        assert lines == [3, 10]
        assert {change.new_text for change in edit.changes[URI]} == {'"big sort"'}
        edits = await client.text_document_formatting_async(
            types.DocumentFormattingParams(DOCUMENT, types.FormattingOptions(2, True))
        )
        assert "  slots        { map = 4, reduce = 2 }" in edits[0].new_text

    run(scenario)


def test_completion() -> None:
    async def scenario(session: Session) -> None:
        await session.diagnostics()

        async def labels(line: int, column: int) -> list[str]:
            params = types.CompletionParams(DOCUMENT, types.Position(line - 1, column))
            return [item.label for item in (await session.client.text_document_completion_async(params)).items]

        assert "deadline" in await labels(8, 2)
        assert "slots" not in await labels(8, 2)
        assert "peak" in await labels(7, len("  jobs = "))
        assert (await labels(8, len("  deadlin = 10 ")))[:2] != []
        assert "minimize cost" in await labels(12, 0)

    run(scenario)
