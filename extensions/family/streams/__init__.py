"""The family streams: executors for the topics of a stream."""

from __future__ import annotations

from pathlib import Path

from mrdsl.contracts.family import Family, Formulation, GoalKind, Needs, Promise, QuantityKind, hooks_in
from mrdsl.core.lazy import lazily
from mrdsl.spec.spec import Spec

from streams.checks import impossible
from streams.facts import StreamFacts


def needs(spec: Spec, relax: bool) -> Needs:
    """Return what solves the model: whole executors make it a mixed-integer program."""
    return Needs("LP" if relax else "MILP")


def reference() -> str:
    """Return the commented spec to start from."""
    return Path(__file__).with_name("reference.mrspec").read_text(encoding="utf-8")


hook = lazily(__name__)  # a function of a module that is imported when it is called, so that `mrdsl check` stays fast
FAMILY = Family(
    name="streams",
    summary="how many executors each topic of a stream gets",
    paper="none",
    facts=StreamFacts,
    goals=(GoalKind("minimize", "cost", "currency", "what the executors cost in an hour"),),
    formulations=(
        Formulation(
            "whole",
            "whole executors for each topic",
            needs,
            build=hook("model", "build"),
            decode=hook("model", "decode"),
        ),
    ),
    quantities=(QuantityKind("executors", "number", "executors of a topic, or of all", over="topics", whole=True),),
    promises=(Promise("topics.rate", -1), Promise("executor.available", 1)),
    impossible=impossible,
    reference=reference,
    **hooks_in(__name__, quantity="verify", simulate_plan="simulate"),
)
