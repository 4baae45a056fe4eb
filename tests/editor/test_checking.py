"""The newest version alone is checked and told of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.editor import checking
from mrdsl.editor.checking import Checks, Version, _Beside

SPEC = "problem capacity\nvm m5 { on_demand { price = 0.192 USD/h } }\n"


def versions(count: int, uri: str = "file:///a") -> list[Version]:
    return [Version(uri, number, "a", f"{SPEC}param p = {number}\n") for number in range(count)]


class Held:
    """In place of the process: an answer when it is let go."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.go = asyncio.Event()

    async def run(self, question: tuple[str, Version], wanted: Callable[[], bool]) -> Any:
        self.asked.append(question[1].number)
        await self.go.wait()
        return ()


def scenario(act: Callable[[Checks, Held], Any]) -> tuple[list[int], list[int]]:
    """What was asked of the process, and what was told."""
    told: list[int] = []

    async def run() -> list[int]:
        checks = Checks(lambda version, found: told.append(version.number))
        held: Any = Held()
        checks._beside = held
        await act(checks, held)
        for _ in range(20):
            await asyncio.sleep(0.01)
        asked: list[int] = held.asked
        return asked

    return asyncio.run(run()), told


def test_edits_within_a_pause_are_one_check() -> None:
    async def act(checks: Checks, held: Held) -> None:
        held.go.set()
        for version in versions(200):
            checks.ask(version, pause=0.02)

    assert scenario(act) == ([199], [199])


def test_what_is_said_of_an_older_version_is_dropped() -> None:
    async def act(checks: Checks, held: Held) -> None:
        first, second = versions(2)
        checks.ask(first)
        await asyncio.sleep(0.01)
        checks.ask(second)
        await asyncio.sleep(0.01)
        held.go.set()

    assert scenario(act) == ([0, 1], [1])


def test_nothing_is_said_of_a_closed_document() -> None:
    async def act(checks: Checks, held: Held) -> None:
        (first,) = versions(1)
        checks.ask(first)
        await asyncio.sleep(0.01)
        checks.forget(first.uri)
        held.go.set()

    assert scenario(act) == ([0], [])


def test_a_check_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next one has a process again."""
    told: list[tuple[Diagnostic, ...]] = []
    monkeypatch.setattr(budgets, "EDITED_SECONDS", 0.05)
    monkeypatch.setattr(checking, "answer", asleep)

    async def run() -> None:
        checks = Checks(lambda version, found: told.append(found))
        checks.ask(versions(1)[0])
        await _until(lambda: len(told) == 1)
        assert isinstance(checks._beside, _Beside)
        monkeypatch.undo()
        checks.ask(versions(2)[1])
        await _until(lambda: len(told) == 2)
        checks.close()

    asyncio.run(run())
    assert [one.code for one in told[0]] == ["unreadable-file"]
    assert {one.code for one in told[1]} == {"missing-block"}


async def _until(what: Callable[[], bool]) -> None:
    for _ in range(600):
        if what():
            return
        await asyncio.sleep(0.05)


def asleep(question: object, report: object) -> None:
    import time

    time.sleep(60)
