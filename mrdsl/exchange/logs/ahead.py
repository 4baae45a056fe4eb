"""What comes next is made by a thread while what came before is looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty, Queue
from typing import TypeVar

Each = TypeVar("Each")
_HELD = 4


@dataclass(frozen=True)
class _End:
    cause: BaseException | None


def ahead(source: Iterator[Each]) -> Iterator[Each]:
    """The same pieces in the same order, up to four of them ready before they are asked for.

    A mistake of the source is raised behind the pieces that it gave. The thread ends with the iterator, also where it
    is closed early.
    """
    held: Queue[Each | _End] = Queue(_HELD)
    stopped = threading.Event()

    def run() -> None:
        cause: BaseException | None = None
        try:
            for piece in source:
                held.put(piece)
                if stopped.is_set():
                    break
        except BaseException as mistake:
            cause = mistake
        held.put(_End(cause))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while not isinstance(item := held.get(), _End):
            yield item
        if item.cause is not None:
            raise item.cause
    finally:
        stopped.set()
        _drain(held, thread)


def _drain(held: Queue[Each | _End], thread: threading.Thread) -> None:
    """Takes what stands in the thread's way until it has ended."""
    while thread.is_alive():
        try:
            held.get(timeout=0.01)
        except Empty:
            continue
    thread.join()
