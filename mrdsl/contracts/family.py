"""What a problem family is: one value that says everything the rest of mrdsl needs to know about it.

Adding a family means adding one package under ``mrdsl/families`` (or an entry point in the group
``mrdsl.families``) whose ``FAMILY`` is a :class:`Family`. Its hooks are functions that import what they need when they
are called, so that ``check`` and ``fmt`` load neither Pyomo nor a solver.

What somebody who runs a plan sets: machines to rent, slots to give, jobs to place. Two plans differ in these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.lazy import lazy
from mrdsl.core.units import KINDS
from mrdsl.spec.schema import Item, Node, declarations
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.answer import Answer
    from mrdsl.core.linear_program import Array, LinearProgram
    from mrdsl.core.result import Limits, Plan, Result, Table
    from mrdsl.exchange.registry import Target, Writer
    from mrdsl.exchange.targets.deployment import Deployment
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings


class SolveModel(Protocol):
    """Puts a Pyomo model to the solver that was chosen; the incumbent is loaded into the model's variables."""

    def __call__(self, model: Any, limits: Limits | None = None) -> Answer: ...


@dataclass(frozen=True)
class Needs:
    """What a model asks of a solver: ``kind`` is LP, MILP, NLP or MINLP."""

    kind: str
    duals: bool = False


@dataclass(frozen=True, eq=False)
class ArrayForm:
    """A formulation in arrays: the program, what its rows are called, the plan at a point of it, the point of a plan.

    Where ``point`` is given, the solver begins at the plan that its caller gives, if it can begin anywhere; with
    ``begins_at_known`` at that which is ``known`` without it, or the better of both. A given plan may be of another
    spec of the family: ``point`` gives what is left of it in this one, whole, or None; what breaks the program is not
    begun at.
    """

    program: LinearProgram
    row_name: Callable[[int], str]
    decode: Callable[[Array], Plan]
    point: Callable[[Any], Array | None] | None = None
    begins_at_known: bool = False


@dataclass(frozen=True, eq=False)
class Formulation:
    """One way of writing the family's problem as a Pyomo model.

    ``needs(spec, relax)``: what it asks of a solver. ``build(spec, relax)``: a ConcreteModel with exactly one active
    objective, whose value is the goal's, constants included. ``decode(spec, model, relax)``: the plan in the values
    that a solver left in the model. Where one model is not enough (cuts, one model per period),
    ``run(spec, relax, limits, solve)`` replaces build, solve and decode.
    ``arrays(spec, relax)``: the linear program that ``build`` comes to, without Pyomo, or None where the spec has
    more than the formulation's plain form; tests hold that both are the same.
    ``known(spec, relax, limits)``: a plan with a proven bound, found cheaply without a solver, or None: a claim that
    it contradicts is withdrawn. Of the limits there is a time alone. The function's name says the method.
    ``refine(spec, relax, limits, result, solve)``: what the model leaves out, done to the result that was read from it,
    by more models where there is a solver; the bound stays one. ``compiled(spec, relax)``: the model with what that of
    ``build`` leaves out, for ``compile`` and for what reads a solution of it.
    ``other_goals``: the quantity of the family's goal whose model takes any linear goal over its ``plan_quantities``
    in the objective's place (:mod:`mrdsl.contracts.plan_expressions`); ""
    where the model holds for the goals of the family alone.
    """

    name: str
    doc: str
    needs: Callable[[Spec, bool], Needs]
    build: Callable[[Spec, bool], Any] | None = None
    decode: Callable[[Spec, Any, bool], Plan] | None = None
    run: Callable[[Spec, bool, Limits, SolveModel], Result] | None = None
    arrays: Callable[[Spec, bool], ArrayForm | None] | None = None
    known: Callable[[Spec, bool, Limits], Result | None] | None = None
    refine: Callable[[Spec, bool, Limits, Result, SolveModel | None], Result] | None = None
    compiled: Callable[[Spec, bool], Any] | None = None
    other_goals: str = ""


SENSES = ("minimize", "maximize", "estimate")
"""What a goal may be to do."""


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

    ``kind`` is the unit's kind in ``mrdsl.core.units.KINDS``; ``over`` names the facts field whose blocks are its
    argument (``classes`` for ``admitted(c)``), "" where it has none. Its argument may also be one of ``words``
    (``share(spot)``). ``whole``: it may be written without one too, and is then the sum over all.
    ``was`` is its name in an earlier release, which specs may still have.
    """

    name: str
    kind: str
    doc: str
    over: str = ""
    words: tuple[str, ...] = ()
    whole: bool = False
    was: str = ""

    @property
    def takes_argument(self) -> bool:
        """Return True if it may be written with an argument."""
        return bool(self.over or self.words)

    @property
    def needs_argument(self) -> bool:
        """Return True if it means nothing without one."""
        return self.takes_argument and not self.whole


@dataclass(frozen=True)
class Promise:
    """A number of the facts that a plan must keep and that its author may give up bit by bit.

    ``path`` names the item: ``classes.deadline``, ``cluster.size``, ``classes.jobs.low``. ``direction`` is +1 where a
    larger number is easier to keep, -1 where a smaller one is. What explains an infeasible spec speaks of these.
    """

    path: str
    direction: int


@dataclass(frozen=True, eq=False)
class Export:
    """A plan in a form of the family's own: ``mrdsl export FILE NAME``. Clusters are better said as ``deployments``.
    ``write(spec, plan)`` gives texts by file
       names; it raises ValueError in words where the plan has no such form.
    """

    format: Writer[Any]
    write: Callable[[Spec, Any], Mapping[str, str]]

    @property
    def name(self) -> str:
        return self.format.name


def kind_words(name: str) -> str:
    """Return the family's name with its article: ``an energy``, ``a joint``."""
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def nothing(_: Spec) -> Iterable[Diagnostic]:
    """No diagnostics."""
    return ()


@dataclass(frozen=True, eq=False)
class Family:
    """A problem family.

    ``facts``: the dataclass whose declared fields are the blocks and items of the spec's top level.
    ``check(spec)``: mistakes beyond what the schema says (exit 2), and warnings; cheap, without Pyomo.
    ``impossible(spec)``: promises that no plan can keep, found without a solver (exit 1), in the user's terms.
    ``method``: the pipeline taken where none is named, of a family that has no formulations. Which pipelines serve it
    is said by their files in ``solvers/``.
    ``infeasible(spec, solve)``: what it means, in the user's terms, that a solver proved that there is no plan;
    ``solve`` is the embedded solver.
    ``choose(spec, relax, formulation)``: what ``--solver auto`` takes: a solver's or a pipeline's name.
    ``verify(spec, plan, relax)``: the spec's own constraints, checked on a finished plan from the facts alone, whoever
    found it. ``measure(spec, plan)``: the goal's value of a plan, computed from the facts; None where it has none.
    ``quantity(spec, plan, name, argument)``: a quantity for ``subject to``; in Pyomo models the component
    ``model.plan_quantities`` is a dict from (name, argument) to expressions.
    ``promises``: the numbers that an explanation of an infeasible spec, and of what each is worth, may move.
    ``why(spec, result)``: what ``mrdsl why`` prints. ``report(spec, result)``: the decision in one sentence, and what
    ``mrdsl report`` draws of the plan. ``simulate(spec, runs, seed, jobs)``: what
    ``mrdsl simulate`` runs; where a spec has to be solved before, ``simulate_plan(spec, plan, settings)`` gives
    the plan with what was observed of it, and warnings. ``shown_again(spec, plan, processes)``: a plan with evidence
    of its own for its promises, with what the same runs show now; None where it has none. ``reference()``: the
    commented spec that ``mrdsl new`` starts
    from; a shipped family has it in ``models/NAME/reference.mrspec`` instead. ``plans()``: the classes of its plans, so
    that a saved one can be read back; the types of their fields are those that :mod:`mrdsl.spec.encoding` knows.
    ``operated(spec, plan)``: what somebody who runs a plan sets, for ``mrdsl diff``. ``deployments(spec, plan)``: the
    clusters that it comes to, from which ``mrdsl export`` writes what ``targets()`` names; it raises TargetError where
    there is none. ``paid_for(spec)``: the time [s] that a goal in money is the cost of, where the spec chooses it. A
    hook that a family does not have is None.
    """

    name: str
    summary: str
    paper: str
    facts: type[Node]
    goals: tuple[GoalKind, ...]
    formulations: tuple[Formulation, ...] = ()
    method: str = ""
    quantities: tuple[QuantityKind, ...] = ()
    check: Callable[[Spec], Iterable[Diagnostic]] = nothing
    impossible: Callable[[Spec], Iterable[Diagnostic]] = nothing
    infeasible: Callable[[Spec, SolveModel], Iterable[Diagnostic]] | None = None
    choose: Callable[[Spec, bool, str | None], str] | None = None
    verify: Callable[[Spec, Any, bool], Iterable[Diagnostic]] | None = None
    measure: Callable[[Spec, Any], float | None] | None = None
    quantity: Callable[[Spec, Any, str, str], float] | None = None
    why: Callable[[Spec, Result], tuple[Table | str, ...]] | None = None
    report: Callable[[Spec, Result], Shown] | None = None
    simulate: Callable[[Spec, int, int | None, int | None], Result] | None = None
    simulate_plan: Callable[[Spec, Any, Settings], tuple[Plan, Iterable[Diagnostic]]] | None = None
    shown_again: Callable[[Spec, Any, int], Plan | None] | None = None
    promises: tuple[Promise, ...] = ()
    exports: tuple[Export, ...] = ()
    targets: Callable[[], tuple[Target, ...]] | None = None
    deployments: Callable[[Spec, Any], tuple[Deployment, ...]] | None = None
    reference: Callable[[], str] | None = None
    plans: Callable[[], tuple[type[Plan], ...]] | None = None
    operated: Callable[[Spec, Any], Operated] | None = None
    paid_for: Callable[[Spec], float] | None = None


HOOKS_OF_FILES = {
    "plan": ("plans",),
    "verify": ("verify", "measure"),
    "explain": ("report", "operated"),
    "why": ("why",),
    "export": ("targets", "deployments"),
}
"""The hooks that a file of that name in a family's folder defines."""


def hooks_in(package: str, **modules: str) -> dict[str, Any]:
    """Find the hooks of a family by the files in its folder, without importing them.

    Args:
        package: Dotted name of the family's package.
        modules: The module of each hook that no file of `HOOKS_OF_FILES` defines: `quantity="verify"`.

    Returns:
        Hooks by name, each imported when it is called. A hook of `HOOKS_OF_FILES` is absent only if its file is.
    """
    found = {
        hook: module
        for module, hooks in HOOKS_OF_FILES.items()
        if find_spec(f"{package}.{module}") is not None
        for hook in hooks
    }
    return {hook: lazy(f"{package}.{module}", hook) for hook, module in {**found, **modules}.items()}


def missing_in(declared: Family) -> Iterator[str]:
    """What a family lacks without which nothing can be asked of it, in words."""
    if not declared.formulations and not declared.method:
        yield "has neither a formulation nor a method: nothing solves it"
    for one in declared.formulations:
        if not one.run and not (one.build and one.decode):
            yield f"lacks a hook: its formulation `{one.name}` has neither `run` nor both `build` and `decode`"
    if declared.quantities and declared.quantity is None:
        yield "lacks a hook: it names quantities, but has no `quantity`"
    if declared.targets is not None and declared.deployments is None:
        yield "lacks a hook: it has `targets`, but no `deployments`"
    if not declared.goals:
        yield "names no goal"


RENT, RUN, GIVE, ADMIT, SET, PLACE = "rent", "run", "give", "admit", "set", "place"


@dataclass(frozen=True)
class Setting:
    """One thing that is set: ``action`` says of which kind, ``what`` names it, ``when`` its period of several.

    ``rent``: so many machines of a kind are rented; ``run``: are switched on; ``give``: a class or a job has so many
    slots, VMs or tasks, as ``unit`` says; ``admit``: so many jobs of a class, or requests of a service, are let in;
    ``set``: an option has that value; ``place``: a job or task stands there.
    """

    action: str
    what: str
    value: float | str
    unit: str = ""
    when: str = ""


@dataclass(frozen=True)
class Operated:
    """All settings of a plan. ``note`` says, where that is so, what a plan of the family leaves to the run."""

    settings: tuple[Setting, ...]
    note: str = ""


def settings_of(node: Node, block: str) -> tuple[Setting, ...]:
    """Return the items of a block as options to set; those that are None are left to mrdsl."""
    found = []
    for name, declared in declarations(type(node)).items():
        value = getattr(node, name)
        if isinstance(declared, Item) and value is not None:
            shown = value if isinstance(value, str | int | float) else str(value)
            unit = KINDS[declared.kind].si if declared.form == "quantity" else ""
            found.append(Setting(SET, f"`{name}` of `{block}`", shown, "" if "{" in unit else unit))
    return tuple(found)
