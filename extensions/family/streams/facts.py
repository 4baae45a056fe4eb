"""What a spec of streams states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mrdsl.spec.schema import Node, block, blocks, quantity


@dataclass(frozen=True, kw_only=True)
class Executor(Node):
    """What is rented."""

    price: float = quantity("price", "what one executor costs", above=0.0)
    throughput: float = quantity("rate", "the events that one executor processes", above=0.0)
    available: int = quantity("number", "how many there are", at_least=0, whole=True)


@dataclass(frozen=True, kw_only=True)
class Topic(Node):
    """Events that come."""

    rate: float = quantity("rate", "the events that come, on average", at_least=0.0)


@dataclass(frozen=True, kw_only=True)
class StreamFacts(Node):
    """The topics of a stream, and the executors that process them."""

    executor: Executor = block(Executor, "the executors for rent", required=True)
    topics: Sequence[Topic] = blocks(Topic, "topic", "a topic of the stream", required=True)
