"""Checks and formatting of documents in another process, so that answers of the server do not wait for them.

Only the newest version of each document is checked, after a pause in the edits. Results of older versions are dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.language.formatting import format_text
from mrdsl.language.loading import load_text
from mrdsl.solving.worker import Worker

PAUSE = 0.1
"""Seconds without an edit after which a document is checked."""


@dataclass(frozen=True)
class Version:
    """One version of a document; ``name`` is the file's."""

    uri: str
    number: int
    name: str
    text: str


class Checks:
    """Checks of the newest version of each document, whose results go to ``publish``; used within an event loop."""

    def __init__(self, publish: Callable[[Version, tuple[Diagnostic, ...]], None]) -> None:
        self._publish = publish
        self._newest: dict[str, Version] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._beside = _Beside()

    def ask(self, version: Version, pause: float = 0.0) -> None:
        """Has a version checked after a pause, unless a newer one comes meanwhile."""
        self.forget(version.uri)
        self._newest[version.uri] = version
        self._waiting[version.uri] = asyncio.get_running_loop().call_later(pause, self._start, version)

    def forget(self, uri: str) -> None:
        """Stop checking a document."""
        self._newest.pop(uri, None)
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()

    async def format(self, version: Version) -> str | None:
        """Return the canonical form of the document, or None if it has none or takes too long."""
        formatted: str | None = await self._beside.run(("format", version))
        return formatted

    def close(self) -> None:
        """End the process."""
        self._beside.close()

    def _start(self, version: Version) -> None:
        task = asyncio.get_running_loop().create_task(self._check(version))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _check(self, version: Version) -> None:
        if not self._is_newest(version):
            return
        found = await self._beside.run(("check", version), lambda: self._is_newest(version))
        if self._is_newest(version):
            self._publish(version, _not_checked(version) if found is None else found)

    def _is_newest(self, version: Version) -> bool:
        return self._newest.get(version.uri) is version


class _Beside:
    """The process: it answers one question after the other, and is ended if an answer takes too long."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._thread = ThreadPoolExecutor(1)

    async def run(self, question: tuple[str, Version], wanted: Callable[[], bool] = lambda: True) -> Any:
        """Return the answer, or None if it takes too long or is not wanted any more."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._ask(question) if wanted() else None)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._thread.shutdown(wait=False)

    def _ask(self, question: tuple[str, Version]) -> Any:
        if self._worker is None or not self._worker.usable():
            self._worker = Worker(answer)
        with suppress(EOFError, OSError):
            self._worker.requests.send(question)
            if self._worker.replies.poll(budgets.EDITED_SECONDS):
                kind, content = self._worker.replies.recv()
                return content if kind == "reply" else None
        self._worker.close()
        return None


def answer(question: tuple[str, Version], report: object) -> Any:
    """Return the diagnostics of a document, or its canonical form; called in the other process."""
    kind, version = question
    if kind == "format":
        return format_text(version.text, "")[0]
    return load_text(version.text, name=version.name, folder=Path(version.name).parent).diagnostics


def _not_checked(version: Version) -> tuple[Diagnostic, ...]:
    message = f"this document was not checked: it takes more than {budgets.EDITED_SECONDS:g} s, or ended the checker"
    hint = "`mrdsl check` has no time limit"
    return (error("unreadable-file", message, Span(version.name, 1, 1, 1, 2), hint),)
