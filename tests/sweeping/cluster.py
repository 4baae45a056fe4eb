"""A Dask cluster that is played: what its library does with runs that fail, and when its scheduler goes away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


class CancelledError(BaseException):
    """As the library's own, no Exception."""


class KilledWorker(Exception):  # noqa: N818
    """As the library calls it."""


@dataclass
class Future:
    """One run: it ends, or does not, when it is asked for."""

    key: str
    run: Callable[[], Any]
    status: str = "pending"

    def result(self) -> Any:
        if self.status == "cancelled":
            raise CancelledError(self.key)
        try:
            return self.run()
        except Exception:
            self.status = "error"
            raise


@dataclass
class Cluster:
    """Runs cells here, the last one first. ``poisonous`` ones end their workers; after ``lost_after`` the scheduler is
    gone."""

    poisonous: frozenset[int] = frozenset()
    lost_after: int | None = None
    workers: int = 1
    status: str = "running"
    closed: bool = False
    addresses: list[str] = field(default_factory=list)

    def connect(self, address: str) -> tuple[Any, Any]:
        self.addresses.append(address)
        return self, self.finished

    def wait_for_workers(self, count: int, timeout: float) -> None:
        if self.workers < count:
            raise TimeoutError

    def map(self, call: Callable[[Any], Any], cells: Iterable[Any], pure: bool) -> list[Future]:
        def run(cell: Any) -> Any:
            if cell.number in self.poisonous:
                raise KilledWorker(f"run {cell.number} was running on 3 workers that died")
            return call(cell)

        return [Future(f"run-{cell.number}", lambda cell=cell: run(cell)) for cell in cells]  # type: ignore[misc]

    def finished(self, futures: list[Future]) -> Iterator[Future]:
        for number, future in enumerate(reversed(futures)):
            if self.lost_after is not None and number >= self.lost_after:
                self.status, future.status = "closed", "cancelled"
            yield future

    def close(self, timeout: float) -> None:
        self.closed = True
        if self.status != "running":
            raise OSError("the scheduler is gone")
