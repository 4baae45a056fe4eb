"""A session of many edits keeps no more than a session of few."""

from __future__ import annotations

import gc
import json
from concurrent.futures import Future
from io import BytesIO
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

from mrdsl.editor import server as module
from mrdsl.editor.server import server

URI = "file:///night.mrspec"
TEXT = "problem capacity\nparam peak = 6\n"


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def futures_after(edits: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The futures that a server holds after that many edits, each followed by a request."""
    made = server()
    monkeypatch.setattr(module, "server", lambda: made)
    opened = {"uri": URI, "languageId": "mrspec", "version": 0, "text": TEXT}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "textDocument/didOpen", "params": {"textDocument": opened}},
    ]
    for number in range(1, edits + 1):
        changed = {"uri": URI, "version": number}
        text = f"{TEXT}# {number}\n"
        at = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 1}}
        messages.append(
            {
                "method": "textDocument/didChange",
                "params": {"textDocument": changed, "contentChanges": [{"text": text}]},
            }
        )
        messages.append({"id": number + 1, "method": "textDocument/hover", "params": at})
    answers = BytesIO()
    module.serve(BytesIO(b"".join(map(framed, messages))), answers)
    assert answers.getvalue().count(b'"id": ') == edits + 1  # every request was answered
    assert made.workspace.get_text_document(URI).source.endswith(f"# {edits}\n")
    gc.collect()
    return sum(isinstance(each, Future) for each in gc.get_objects())


def test_a_server_holds_as_many_futures_after_200_edits_as_after_10(monkeypatch: pytest.MonkeyPatch) -> None:
    few = futures_after(10, monkeypatch)
    assert futures_after(200, monkeypatch) <= few + 10
