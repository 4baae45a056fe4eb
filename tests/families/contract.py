"""The contract of shipped families, beyond what `mrdsl check-plugin` asks of a plug-in.

First the declaration is checked, then the reference spec is solved, verified, printed, saved, read back and, if the
family supports it, simulated. The two lists at the end contain all checks. Each check yields its complaints in words:
one of :data:`Declares` takes the family, one of :data:`OfReference` also the reference spec and its result.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from mrdsl.contracts.family import Family, Formulation, missing_in
from mrdsl.core.diagnostics import MrdslError, has_errors
from mrdsl.core.result import Plan, Result, Table
from mrdsl.core.tables import print_tables
from mrdsl.core.units import KINDS, UNITS
from mrdsl.extending import Checked, tried
from mrdsl.families import reference_text
from mrdsl.families.diagnosis import diagnose
from mrdsl.language.loading import load_text
from mrdsl.planning.claims import violations
from mrdsl.planning.saved_plans import read_saved
from mrdsl.planning.simulate_spec import simulate
from mrdsl.planning.solve_spec import solve
from mrdsl.planning.verified_plans import verify
from mrdsl.reporting.document import result_document, to_json
from mrdsl.simulation.settings import Settings
from mrdsl.solving import registry
from mrdsl.spec.schema import Block, Item, Node, declarations
from mrdsl.spec.spec import Spec

SAME = 1e-12
"""Largest relative difference between a measured value and the reported one."""
Declares = Callable[[Family], Iterator[str]]
OfReference = Callable[[Family, Spec, Result], Iterator[str]]


def held(declared: Family, promise: Callable[..., Iterator[str]], *reference: Any) -> Checked:
    """Runs one check of a family; ``reference`` is its reference spec and the result, if the check needs them."""
    return tried(f"the family `{declared.name}`", promise, declared, *reference)


def reference_result(declared: Family, folder: Path | str = "") -> tuple[Spec, Result]:
    """Solve the reference spec of a family with the solver that the family chooses."""
    text = reference_text(declared.name)
    if text is None:
        raise AssertionError(f"the family `{declared.name}` lacks a hook: `reference` is what to start from")
    loaded = load_text(text, folder=folder)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics)
    return loaded.spec, solve(loaded.spec)


def takes(function: Callable[..., Any], count: int) -> bool:
    """Return True if a function can be called with a number of positional arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True


def it_lacks_nothing(declared: Family) -> Iterator[str]:
    """Check that there are objectives, a way to solve them, and all hooks that they need."""
    yield from (f"it {what}" for what in missing_in(declared))


def check_declaration(declared: Family) -> Iterator[str]:
    """Check that there is a summary, a source and facts."""
    if not declared.summary or not declared.paper:
        yield "`summary` and `paper` are required: what it is, and its source; write `none` if there is no paper"
    if not issubclass(declared.facts, Node):
        yield f"its facts class {declared.facts.__name__} is not a Node"


def its_goals_have_a_unit(declared: Family) -> Iterator[str]:
    """Check that each objective is unique, with a sense, a known unit and a description."""
    if len({(goal.sense, goal.quantity) for goal in declared.goals}) != len(declared.goals):
        yield "it names a goal twice"
    for goal in declared.goals:
        if goal.sense not in ("minimize", "maximize", "estimate"):
            yield f"the goal {goal.quantity} has the sense {goal.sense!r}"
        if goal.unit not in ("", "currency") and goal.unit not in UNITS:
            yield f"the goal {goal.quantity} has the unknown unit {goal.unit!r}"
        if not goal.doc:
            yield f"the objective {goal.quantity} has no description"


def its_quantities_have_a_kind_and_blocks(declared: Family) -> Iterator[str]:
    """Check that each quantity is unique, of a known kind, over blocks of the facts."""
    if declared.quantity is not None and not declared.quantities:
        yield "it has the hook `quantity`, but declares no quantities"
    if len({quantity.name for quantity in declared.quantities}) != len(declared.quantities):
        yield "it names a quantity twice"
    fields = declarations(declared.facts)
    for quantity in declared.quantities:
        if quantity.kind not in KINDS:
            yield f"the quantity {quantity.name} has the unknown kind {quantity.kind!r}"
        if not quantity.doc:
            yield f"the quantity {quantity.name} has no description"
        for over in filter(None, (quantity.over, quantity.per)):
            block = fields.get(over)
            listed = isinstance(getattr(declared.facts, over, None), property)
            if not listed and not (isinstance(block, Block) and block.repeated):
                yield f"the quantity {quantity.name} is over {over!r}, which the facts do not have"


def check_promised_numbers(declared: Family) -> Iterator[str]:
    """Check that each number, list or repeated block that can be relaxed is in the facts."""
    for promise in declared.promises:
        form = "range" if promise.path.endswith((".low", ".high")) else "quantity"
        item = _item_at(declared.facts, promise.path.removesuffix(".low").removesuffix(".high").split("."))
        if promise.direction not in (1, -1):
            yield f"the promise {promise.path} has the direction {promise.direction!r}"
        if item is None or (isinstance(item, Item) and item.form not in (form, "names")):
            yield f"the constraint {promise.path} is not a {form} of the facts"


def _item_at(node: type[Node], words: list[str]) -> Item | Block | None:
    *blocks, last = words
    for word in blocks:
        block = declarations(node).get(word)
        if not isinstance(block, Block):
            return None
        node = block.node
    item = declarations(node).get(last)
    return item if isinstance(item, Item) or (isinstance(item, Block) and item.repeated) else None


def its_formulations_are_a_model_or_a_run(declared: Family) -> Iterator[str]:
    """Check that each formulation has a unique name, a description, and a complete set of hooks."""
    if len({formulation.name for formulation in declared.formulations}) != len(declared.formulations):
        yield "it names a formulation twice"
    for formulation in declared.formulations:
        if not formulation.doc:
            yield f"the formulation {formulation.name} has no description"
        if (formulation.build is None) != (formulation.decode is None):
            yield f"the formulation {formulation.name}: `build` and `decode` come together"


def hooks_of(contract: type[Family | Formulation]) -> Iterator[tuple[str, int]]:
    """List the hooks of a contract."""
    for field in fields(contract):
        for part in ast.walk(ast.parse(str(field.type), mode="eval")):
            if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Tuple):
                values = part.slice.elts[0]
                if isinstance(values, ast.List):
                    yield field.name, len(values.elts)


def check_hook_signatures(declared: Family) -> Iterator[str]:
    """Check the number of arguments of each hook."""
    hooks = {name: (getattr(declared, name), count) for name, count in hooks_of(Family)}
    for formulation in declared.formulations:
        for name, count in hooks_of(Formulation):
            hooks[f"{formulation.name}.{name}"] = (getattr(formulation, name), count)
    for export in declared.exports:
        hooks[export.name] = (export.write, 2)
    for name, (hook, count) in hooks.items():
        if hook is None:
            continue
        if not inspect.isfunction(inspect.unwrap(hook)):
            yield f"`{name}` is not a function"
        elif not takes(hook, count):
            yield f"`{name}` does not take {count} values"


def check_own_method(declared: Family) -> Iterator[str]:
    """Check that the heuristic that the family names has steps for it."""
    if declared.method and declared.method not in registry.methods_of(declared.name):
        yield f"its method `{declared.method}` is not a heuristic for this family"


def check_reference_spec(_: Family, spec: Spec, __: Result) -> Iterator[str]:
    """Check the reference spec with `mrdsl check`."""
    yield from (one.message for one in diagnose(spec) if has_errors([one]))


def check_reference_is_complete(declared: Family, _: Spec, __: Result) -> Iterator[str]:
    """Check that the reference spec names no other file, because `mrdsl new` prints it anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_text(reference_text(declared.name) or "", folder=Path(folder))
    if loaded.spec is None or loaded.files:
        yield "its reference spec needs other files"


def check_plan_constraints(declared: Family, spec: Spec, result: Result) -> Iterator[str]:
    """Check that there is a plan, and that the family's `verify` accepts it."""
    if declared.verify is None:
        yield "it lacks the hook `verify`, which checks a plan against the spec"
    if result.plan is None:
        yield "; ".join(["its reference spec has no plan", *(one.message for one in result.diagnostics)])
        return
    yield from (one.message for one in violations(spec, declared, result.plan, relax=False) if has_errors([one]))


def its_value_is_the_measured_one(declared: Family, spec: Spec, result: Result) -> Iterator[str]:
    """Check that the value of the result is the one that `measure` computes."""
    if declared.measure is None:
        yield "it lacks the hook `measure`, which computes the objective of a plan"
        return
    measured, told = declared.measure(spec, result.plan), result.objective.value
    same = measured is None and told is None
    if measured is not None and told is not None:
        same = math.isfinite(measured) and math.isclose(told, measured, rel_tol=SAME)
    if not same:
        yield f"`measure` computes {measured}, but the result claims {told}"


def its_why_speaks(declared: Family, spec: Spec, result: Result) -> Iterator[str]:
    """Check that `mrdsl why` prints tables and texts."""
    if declared.why is None:
        return
    parts = tuple(declared.why(spec, result))
    if not parts or not all(isinstance(part, Table | str) for part in parts) or not print_tables(parts).strip():
        yield "`why` returns nothing"


def its_document_is_finite_json(_: Family, __: Spec, result: Result) -> Iterator[str]:
    """Check that the JSON of the result contains finite numbers, and that the plan has tables."""
    infinite: list[str] = []
    document = json.loads(to_json(result_document(result)), parse_constant=infinite.append)
    if infinite:
        yield f"the JSON object of its plan contains {infinite[0]}"
    if not document["plan"] or not result.tables():
        yield "its plan has no tables"


def its_plan_is_saved_and_read_back(declared: Family, spec: Spec, result: Result) -> Iterator[str]:
    """Check that a saved plan is the same after reading, and that `mrdsl verify` accepts it."""
    if declared.plans is None:
        yield "it lacks the hook `plans`, which names the classes of its plans"
        return
    text = result.to_json()
    back: Result = Result.from_json(text)
    if back != result or back.spec != spec or back.to_json() != text:
        yield "a saved plan differs after it is read back"
    yield from (f"`mrdsl verify` of its saved plan: {one.message}" for one in verify(read_saved(text)).found)


def it_crosses_to_other_processes(declared: Family, spec: Spec, result: Result) -> Iterator[str]:
    """Check that spec and result can be pickled."""
    if Spec.from_json(spec.to_json()) != spec or pickle.loads(pickle.dumps(spec)) != spec:
        yield "its spec differs in another process"
    if declared.plans is not None:
        back: Result = Result.from_json(result.to_json())
        if pickle.loads(pickle.dumps(back)) != result:
            yield "its result differs in another process"


def check_setting_names(declared: Family, spec: Spec, result: Result) -> Iterator[str]:
    """Check that no setting is named twice."""
    if declared.operated is None or not isinstance(result.plan, Plan):
        return
    found = declared.operated(spec, result.plan)
    places = [(each.action, each.when, each.what, each.unit) for each in found.settings]
    if len(set(places)) != len(places):
        yield "`operated` names a setting twice"
    if not found.settings and not found.note:
        yield "`operated` returns nothing"


def check_saved_simulation(declared: Family, spec: Spec, _: Result) -> Iterator[str]:
    """Check that observations of two simulation runs are saved and read back."""
    if declared.plans is not None and (declared.simulate or declared.simulate_plan):
        yield from simulated_twice(spec, None)


def simulated_twice(spec: Spec, jobs: int | None) -> Iterator[str]:
    """Simulate two runs, save them and read them back."""
    seen = simulate(spec, Settings(runs=2, jobs=jobs, seed=1), 1)
    text = seen.to_json()
    if Result.from_json(text) != seen:
        yield "a simulation result differs after it is read back"
    yield from (f"`mrdsl verify` of its simulation: {one.message}" for one in verify(read_saved(text)).found)


DECLARES: tuple[Declares, ...] = (
    it_lacks_nothing,
    check_declaration,
    its_goals_have_a_unit,
    its_quantities_have_a_kind_and_blocks,
    check_promised_numbers,
    its_formulations_are_a_model_or_a_run,
    check_hook_signatures,
    check_own_method,
)
OF_ITS_REFERENCE: tuple[OfReference, ...] = (
    check_reference_spec,
    check_reference_is_complete,
    check_plan_constraints,
    its_value_is_the_measured_one,
    its_why_speaks,
    its_document_is_finite_json,
    its_plan_is_saved_and_read_back,
    it_crosses_to_other_processes,
    check_setting_names,
    check_saved_simulation,
)
