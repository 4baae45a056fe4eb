"""The contract of a problem family: one value with everything that the rest of mrdsl uses.

A family is a package in `mrdsl/families`, or an entry point in the group `mrdsl.families`, whose `FAMILY` is a
:class:`Family`. Its hooks are imported when they are called, so `check` and `fmt` load neither Pyomo nor a solver.
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
    from mrdsl.core.charts import Use
    from mrdsl.core.linear_program import Array, LinearProgram
    from mrdsl.core.result import Limits, Plan, Result, Table
    from mrdsl.exchange.registry import Target, Writer
    from mrdsl.exchange.targets.deployment import Deployment
    from mrdsl.reporting.report import Shown
    from mrdsl.simulation.settings import Settings


class SolveModel(Protocol):
    """Function that solves a Pyomo model with the selected solver.

    Args:
        model: Pyomo model; the solution is loaded into its variables.
        limits: Limits of the solve; those of the run if None.

    Returns:
        The checked answer of the solver.
    """

    def __call__(self, model: Any, limits: Limits | None = None) -> Answer: ...


@dataclass(frozen=True)
class Needs:
    """Requirements of a model on a solver.

    Attributes:
        kind: LP, MILP, NLP or MINLP.
        duals: The solver must return dual values.
    """

    kind: str
    duals: bool = False


@dataclass(frozen=True, eq=False)
class ArrayForm:
    """A formulation in arrays.

    Attributes:
        program: The linear program.
        row_name: Function that returns the name of a row.
        decode: Function that returns the plan at a point of the program.
        point: Function that returns the point of a plan, which can be of a similar spec; None if nothing of it is left.
        begins_at_known: Start at the plan of `known`, or at a given plan if that is better.
    """

    program: LinearProgram
    row_name: Callable[[int], str]
    decode: Callable[[Array], Plan]
    point: Callable[[Any], Array | None] | None = None
    begins_at_known: bool = False


@dataclass(frozen=True, eq=False)
class Formulation:
    """A formulation of the family's problem as a Pyomo model.

    Attributes:
        name: Name for `--formulation`.
        doc: Description in one line.
        needs: Returns the requirements of `(spec, relax)` on a solver.
        build: Returns a ConcreteModel for `(spec, relax)` with one active objective, constants included.
        decode: Returns the plan of `(spec, model, relax)` from the values of the variables.
        run: Replaces build, solve and decode if one model is not enough: `(spec, relax, limits, solve)`.
        arrays: Returns the same linear program in arrays for `(spec, relax)`, or None if the spec needs Pyomo.
        known: Returns a plan with a proven bound for `(spec, relax, limits)` without a solver, or None. A claim of a
            solver that contradicts it is withdrawn.
        nodes: Returns the branch-and-bound nodes after which `auto` ends the search for `(spec, relax)`, or None. It
            applies if `known` has a plan and the user set no limit.
        refine: Adds parts to a result that the model omits: `(spec, relax, limits, result, solve)`.
        compiled: Returns the complete model for `compile`, if `build` omits parts.
        other_goals: Quantity of the objective whose model supports any linear objective; empty if none does.
    """

    name: str
    doc: str
    needs: Callable[[Spec, bool], Needs]
    build: Callable[[Spec, bool], Any] | None = None
    decode: Callable[[Spec, Any, bool], Plan] | None = None
    run: Callable[[Spec, bool, Limits, SolveModel], Result] | None = None
    arrays: Callable[[Spec, bool], ArrayForm | None] | None = None
    known: Callable[[Spec, bool, Limits], Result | None] | None = None
    nodes: Callable[[Spec, bool], int | None] | None = None
    refine: Callable[[Spec, bool, Limits, Result, SolveModel | None], Result] | None = None
    compiled: Callable[[Spec, bool], Any] | None = None
    other_goals: str = ""


SENSES = ("minimize", "maximize", "estimate")
"""Senses of an objective."""


@dataclass(frozen=True)
class GoalKind:
    """An objective of a family, such as `minimize cost`.

    Attributes:
        sense: `minimize`, `maximize` or `estimate`.
        quantity: Name of the quantity.
        unit: SI unit, `currency`, or empty for a number.
        doc: Description in one line.
        least: A value that no plan is below, such as 0 for a cost; None if there is none.
    """

    sense: str
    quantity: str
    unit: str
    doc: str
    least: float | None = None


@dataclass(frozen=True)
class QuantityKind:
    """A quantity of plans for `subject to`.

    Attributes:
        name: Name in specs.
        kind: Kind of its unit in `mrdsl.core.units.KINDS`.
        doc: Description in one line.
        over: Field of the facts whose blocks are its argument, such as `classes` for `admitted(c)`.
        words: Words that are its argument, such as `spot` in `share(spot)`.
        whole: Without an argument it is the sum.
        was: Name in an earlier release.
        per: Field of the facts whose blocks can be a second argument, such as `vms` in `share(spot, m5)`.
        per_words: Words that can be the second argument, such as `largest` in `share(spot, largest)`.
    """

    name: str
    kind: str
    doc: str
    over: str = ""
    words: tuple[str, ...] = ()
    whole: bool = False
    was: str = ""
    per: str = ""
    per_words: tuple[str, ...] = ()

    @property
    def takes_argument(self) -> bool:
        """Return True if it can have an argument."""
        return bool(self.over or self.words)

    @property
    def needs_argument(self) -> bool:
        """Return True if it must have an argument."""
        return self.takes_argument and not self.whole


@dataclass(frozen=True)
class Promise:
    """A number of the facts that constrains a plan and can be relaxed step by step.

    Attributes:
        path: Path of the item, such as `classes.deadline` or `classes.jobs.low`; a list or a repeated block counts 1.
        direction: 1 if a larger number is easier to meet, -1 if a smaller one is (or none, of a list or a block).
    """

    path: str
    direction: int


@dataclass(frozen=True, eq=False)
class Export:
    """A family's own format for `mrdsl export FILE NAME`. Prefer `deployments` for clusters.

    Attributes:
        format: Entry of the format.
        write: Returns texts by file name for `(spec, plan)`; raises ValueError if the plan has no such form.
    """

    format: Writer[Any]
    write: Callable[[Spec, Any], Mapping[str, str]]

    @property
    def name(self) -> str:
        return self.format.name


def kind_words(name: str) -> str:
    """Return the family's name with its article, such as `an energy`.

    Args:
        name: Name of the family.

    Returns:
        Article and name.
    """
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def nothing(_: Spec) -> Iterable[Diagnostic]:
    """Return no diagnostics.

    Args:
        _: Any spec.

    Returns:
        An empty tuple.
    """
    return ()


@dataclass(frozen=True, eq=False)
class Family:
    """A problem family. Optional hooks are None.

    Attributes:
        name: Word after `problem` in specs.
        summary: Description in one line.
        paper: Source of the model.
        facts: Dataclass whose fields are the blocks and items of a spec.
        goals: Objectives.
        formulations: Formulations as models.
        method: Heuristic that solves specs of a family without formulations.
        quantities: Quantities for `subject to`.
        check: Returns errors and warnings of a spec beyond the schema, without Pyomo.
        impossible: Returns constraints that no plan can meet, found without a solver (exit code 1).
        infeasible: Explains that a solver proved infeasibility, from `(spec, solve)`.
        choose: Returns the name of the solver or heuristic for `--solver auto`, from `(spec, relax, formulation)`.
        verify: Returns the constraints that a plan does not meet, from `(spec, plan, relax)` and the facts alone.
        measure: Returns the objective of `(spec, plan)` from the facts, or None.
        quantity: Returns a quantity of a plan, from `(spec, plan, name, argument)`.
        why: Returns the tables and texts of `mrdsl why`, from `(spec, result)`.
        report: Returns the decision in one sentence, and charts for `mrdsl report`, from `(spec, result)`.
        simulate: Simulates a spec without a plan, from `(spec, runs, seed, jobs)`.
        simulate_plan: Returns the plan with observations, and warnings, from `(spec, plan, settings)`.
        repeat_runs: Repeats the runs that are evidence of a plan, from `(spec, plan, processes)`.
        promises: Numbers that explanations can change.
        exports: Formats of the family itself.
        targets: Returns the targets of `mrdsl export`.
        deployments: Returns the clusters of `(spec, plan)`; raises TargetError if there are none.
        reference: Returns the spec that `mrdsl new` prints; built-in families have it in `models/`.
        plans: Returns the classes of plans, to read saved ones.
        operated: Returns the settings of `(spec, plan)` that an operator changes, for `mrdsl diff`.
        paid_for: Returns the time [s] that the cost of a spec covers.
        today: Returns the use of the machines of a plan, from `(spec, plan)`, to compare with the `observed` cluster.
        bound: Returns a bound on the objective of a large spec, infinite without a plan: `(spec, near)`. `why` compares
            the bounds of specs with other numbers; the search may begin at what is known of `near`, a spec whose bound
            was computed before, or None. None if it solves each of them.
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
    repeat_runs: Callable[[Spec, Any, int], Plan | None] | None = None
    promises: tuple[Promise, ...] = ()
    exports: tuple[Export, ...] = ()
    targets: Callable[[], tuple[Target, ...]] | None = None
    deployments: Callable[[Spec, Any], tuple[Deployment, ...]] | None = None
    reference: Callable[[], str] | None = None
    plans: Callable[[], tuple[type[Plan], ...]] | None = None
    operated: Callable[[Spec, Any], Operated] | None = None
    paid_for: Callable[[Spec], float] | None = None
    today: Callable[[Spec, Any], Use] | None = None
    bound: Callable[..., float | None] | None = None


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
        modules: Module of each hook that no file of `HOOKS_OF_FILES` defines, such as `quantity="verify"`.

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
    """Find missing parts without which a family cannot be used.

    Args:
        declared: The family.

    Yields:
        One sentence for each missing part.
    """
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


RENT, RENTAL, RUN, GIVE, ADMIT, SET, PLACE = "rent", "rental", "run", "give", "admit", "set", "place"


@dataclass(frozen=True)
class Setting:
    """One setting that an operator makes.

    Attributes:
        action: `rent` or `run` machines, `rental` of machines from one time to another, `give` slots, VMs or tasks,
            `admit` jobs or requests, `set` an option, or `place` a job or task.
        what: Name of the item.
        value: Number or text.
        unit: Unit of the number.
        when: Period, if there are several.
    """

    action: str
    what: str
    value: float | str
    unit: str = ""
    when: str = ""


@dataclass(frozen=True)
class Operated:
    """All settings of a plan.

    Attributes:
        settings: The settings.
        note: Note on decisions that the plan leaves to the run.
    """

    settings: tuple[Setting, ...]
    note: str = ""


def settings_of(node: Node, block: str) -> tuple[Setting, ...]:
    """Convert the items of a block to settings.

    Args:
        node: The block; items that are None are left out.
        block: Name of the block.

    Returns:
        One setting for each item.
    """
    found = []
    for name, declared in declarations(type(node)).items():
        value = getattr(node, name)
        if isinstance(declared, Item) and value is not None:
            shown = value if isinstance(value, str | int | float) else str(value)
            unit = KINDS[declared.kind].si if declared.form == "quantity" else ""
            found.append(Setting(SET, f"`{name}` of `{block}`", shown, "" if "{" in unit else unit))
    return tuple(found)
