"""What a problem family is: one value that says everything the rest of mrdsl needs to know about it.

Adding a family means adding one package under ``mrdsl/problems`` (or an entry point in the group
``mrdsl.families``) whose ``FAMILY`` is a :class:`Family`. Heavy code is named as ``"module:function"`` and loaded
only when it is called, so that ``check`` and ``fmt`` load neither Pyomo nor a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any

from mrdsl.diagnostics import Diagnostic
from mrdsl.spec.schema import Node
from mrdsl.spec.spec import Spec

Reference = str


def load(reference: Reference) -> Any:
    """The object behind ``"package.module:name"``."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class Needs:
    """What a model asks of a solver: ``kind`` is LP, MILP, NLP or MINLP."""

    kind: str
    duals: bool = False


@dataclass(frozen=True)
class Formulation:
    """One way of writing the family's problem as a Pyomo model.

    ``build(spec, relax) -> ConcreteModel`` has exactly one active objective, whose value is the goal's, constants
    included. ``decode(spec, model, relax) -> Plan`` reads the values that a solver left in the model.
    ``needs(spec, relax) -> Needs``.

    Where one model is not enough (cuts, one model per period), ``run`` replaces build, solve and decode:
    ``run(spec, relax, limits, solve) -> Outcome`` with ``solve(model, limits=None) -> mrdsl.solving.Answer``; an
    answer has termination, solution, value, bound, and has loaded the incumbent into the model.

    ``known(spec, relax) -> Outcome | None`` is a plan with a proven bound, found cheaply without a solver: a claim
    that it contradicts is withdrawn. The function's name says the method.
    """

    name: str
    doc: str
    needs: Callable[[Spec, bool], Needs]
    build: Reference = ""
    decode: Reference = ""
    run: Reference = ""
    known: Reference = ""


@dataclass(frozen=True)
class GoalKind:
    """A goal that the family serves: ``minimize cost``. ``unit`` is the objective's unit, "" for a pure number."""

    sense: str
    quantity: str
    unit: str
    doc: str


@dataclass(frozen=True)
class QuantityKind:
    """A quantity that ``subject to`` may compare.

    ``kind`` is the unit's kind in ``mrdsl.units.KINDS``; ``over`` names the facts field whose blocks are its
    argument (``classes`` for ``admitted(c)``), "" where it has none.
    """

    name: str
    kind: str
    doc: str
    over: str = ""


@dataclass(frozen=True)
class Promise:
    """A number of the facts that a plan must keep and that its author may give up bit by bit.

    ``path`` names the item: ``classes.deadline``, ``cluster.size``, ``classes.jobs.low``. ``direction`` is +1 where a
    larger number is easier to keep, -1 where a smaller one is. What explains an infeasible spec speaks of these.
    """

    path: str
    direction: int


@dataclass(frozen=True)
class Experiment:
    """A study that one command runs: ``mrdsl experiment NAME``.

    ``run`` is a reference to ``run(output: Path, **options) -> Iterable[Table]``; it writes its plots and tables into
    the folder ``output``. ``options`` names each keyword with its default and a word about it.
    """

    name: str
    doc: str
    run: Reference
    options: Mapping[str, tuple[Any, str]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Export:
    """A plan as files that another program takes over: ``mrdsl export FILE NAME``.

    ``write`` is a reference to ``write(spec, plan) -> Mapping[str, str]``, from file names to texts; it raises
    ValueError in words where the plan has no such form.
    """

    name: str
    doc: str
    write: Reference


def kind_words(name: str) -> str:
    """The family's name with its article: ``an energy``, ``a joint``."""
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def nothing(_: Spec) -> Iterable[Diagnostic]:
    """No diagnostics."""
    return ()


@dataclass(frozen=True)
class Family:
    """A problem family.

    ``facts``: the dataclass whose declared fields are the blocks and items of the spec's top level.
    ``check(spec)``: mistakes beyond what the schema says (exit 2), and warnings; cheap, without Pyomo.
    ``impossible(spec)``: promises that no plan can keep, found without a solver (exit 1), in the user's terms.
    ``methods``: the pipelines that serve the family, by the names of their files in ``solvers/``.
    ``infeasible(spec, solve) -> Iterable[Diagnostic]``: what it means, in the user's terms, that a solver proved that
    there is no plan; ``solve(model, limits=None)`` as for a formulation's ``run``, with the embedded solver.
    ``choose(spec, relax, formulation) -> str``: what ``--solver auto`` takes: a solver's or a pipeline's name.
    ``verify(spec, plan, relax) -> Iterable[Diagnostic]``: the spec's own constraints, checked on a finished plan
    from the facts alone, whoever found it. ``measure(spec, plan) -> float | None``: the goal's value of a plan,
    computed from the facts; None where the goal has no value.
    ``quantity(spec, plan, name, argument) -> float``: a quantity for ``subject to``; in Pyomo models
    the component ``model.plan_quantities`` is a dict from (name, argument) to expressions.
    ``promises``: the numbers that an explanation of an infeasible spec, and of what each is worth, may move.
    ``why(spec, result) -> tuple[Table | str, ...]``: what ``mrdsl why`` prints.
    ``simulate(spec, runs, seed, jobs) -> Outcome``: what ``mrdsl simulate`` runs.
    """

    name: str
    summary: str
    paper: str
    facts: type[Node]
    goals: tuple[GoalKind, ...]
    formulations: tuple[Formulation, ...] = ()
    methods: tuple[str, ...] = ()
    quantities: tuple[QuantityKind, ...] = ()
    check: Callable[[Spec], Iterable[Diagnostic]] = nothing
    impossible: Callable[[Spec], Iterable[Diagnostic]] = nothing
    infeasible: Reference = ""
    choose: Reference = ""
    verify: Reference = ""
    measure: Reference = ""
    quantity: Reference = ""
    why: Reference = ""
    simulate: Reference = ""
    promises: tuple[Promise, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    exports: tuple[Export, ...] = ()
