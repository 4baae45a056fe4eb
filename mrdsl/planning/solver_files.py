"""Files for external solvers: models with readable names, solution files as checked results, compiled specs.

A compiled spec is changed and solved again, without doing again what did not change:

    compiled = mrdsl.compile(mrdsl.load("nightly.mrspec"))
    for peak in (1.0, 1.1, 1.2):
        compiled.update(peak=peak)
        print(compiled.solve().objective.value)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mrdsl.contracts.family import Family, Formulation
from mrdsl.core.answer import Answer, Reply
from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import MrdslError, Span, one_error, warning
from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.reading import UnreadableError, is_through, read_bytes
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.core.writer import Together
from mrdsl.exchange.model_files import Written, column_and_row_names
from mrdsl.exchange.registry import MODELS, SOLUTIONS, ModelWriter, by_ending, endings, listed, named, recognized
from mrdsl.exchange.text import FormatError, decode
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.choice import asked, formulation_named
from mrdsl.planning.claims import compared, method_of, verified
from mrdsl.planning.results import decoded, doubts_of, goal_of
from mrdsl.planning.solve_spec import build_model, compile_model, finish, solve
from mrdsl.solving.arrays import fill_the_unused, fingerprint, linear_program, objective_of, require_match
from mrdsl.solving.checked_answer import judge
from mrdsl.solving.claims import AGREE
from mrdsl.spec.schema import Node
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.language.loading import Updater


class CompiledModel:
    """A spec with its Pyomo model, made by ``mrdsl.compile``.

    The text is read once; an update evaluates only items that mention the changed params. If the solver can, a solve
    starts at the last plan, in the same worker process.
    """

    @checked
    def __init__(self, spec: Spec, *, formulation: str | None = None, relax: bool = False) -> None:
        from mrdsl.families.diagnosis import find_family
        from mrdsl.solving.checked_answer import Memory

        find_family(spec)
        self.formulation = formulation
        self.relax = relax
        self._spec = spec
        self._model: Any = None
        self._sense: Any = None
        self._updater: Updater | None = None
        self._memory = Memory()

    @property
    def spec(self) -> Spec:
        """The spec as it is now."""
        return self._spec

    @property
    def model(self) -> Any:
        """The Pyomo model of the current spec, built at first access; raises MrdslError.

        From then on :meth:`solve` solves this model with your changes (an added constraint, a fixed variable), and its
        variables have the values of the plan. An update or a revision builds it anew. You can also solve it with a
        Pyomo solver: :meth:`result` reads the plan.
        """
        if self._model is None:
            self._model = compile_model(self._spec, self.formulation, self.relax)
            self._model.of_caller = True
            self._sense = _objectives(self._model)[0].sense
        return self._model

    def update(self, **parameters: Any) -> CompiledModel:
        """Change values of params: numbers, or texts with a unit (``deadline="15 min"``); other params stay the same.

        Raises MrdslError if the spec has no such param or the values break it; the model then stays the same.
        """
        self.revise(self._reader().update(parameters))
        return self

    @checked
    def revise(self, spec: Spec) -> CompiledModel:
        """Take another spec in place of this one, such as one with changed facts."""
        self._spec, self._model = spec, None
        return self

    @checked
    def solve(self, solver: str = "auto", limits: Limits | None = None) -> Result:
        """Solve the current spec, or its model after an access to :attr:`model`.

        Raises MrdslError as ``mrdsl.solve`` does, ``unable-solver`` if a pipeline is to solve a model, and
        ``wrong-value`` if the model has not one objective of the same sense any more.
        """
        self._require_one_objective()
        return solve(self._spec, solver, self.formulation, self.relax, limits, self._memory, self._model)

    @checked
    def result(self, solver: str = "a solver of the caller's") -> Result:
        """Read the plan in the variables of :attr:`model` after you solved it with another solver.

        The point is checked against the model, and the plan against the spec. The plan is feasible, not optimal: there
        is no bound.

        Args:
            solver: The name of the solver in the result.

        Returns:
            The verified plan with its cost; ``error`` as the termination if the point breaks the model or the spec.

        Raises:
            MrdslError: ``no-plan`` if no variable of the model has a value; ``wrong-value`` as :meth:`solve`.
        """
        from mrdsl.planning.choice import asked
        from mrdsl.planning.results import decoded
        from mrdsl.planning.solve_spec import finish
        from mrdsl.solving.checked_answer import answer_in

        formulation, relax = asked(self._spec, self.formulation, self.relax)
        model = self.model
        self._require_one_objective()
        found = decoded(self._spec, model, answer_in(model, solver), formulation, relax)
        return finish(self._spec, found, formulation, relax, {"name": solver, "version": None, "file": None})

    def __getstate__(self) -> dict[str, Any]:
        """Return the spec and how it is solved; the model and the text's tree are made again where they are
        asked for.
        """
        return {**self.__dict__, "_model": None, "_updater": None}

    def _require_one_objective(self) -> None:
        if self._model is None:
            return
        found = _objectives(self._model)
        if len(found) != 1:
            hint = "deactivate the others: `objective.deactivate()`" if found else "call `objective.activate()`"
            raise one_error("wrong-value", f"the model needs one active objective, got {len(found)}", hint=hint)
        if found[0].sense != self._sense:
            message = f"objective `{found[0].name}` of the model must keep its sense"
            raise one_error("wrong-value", message, hint="change the sign of its expression instead")

    def _reader(self) -> Updater:
        from mrdsl.language.loading import Updater

        if self._updater is None:
            spec = self._spec
            if not spec.text:
                message = "this spec was built in Python and has no params: change its input data and call revise"
                raise one_error("unknown-param", message, hint="compiled.revise(dataclasses.replace(spec, …))")
            path = Path(spec.file)
            known = path if path.exists() else None
            folder = path.parent if known else Path()
            self._updater = Updater(spec.text, spec.file, folder, known, spec.given, spec.seed)
        return self._updater


def _objectives(model: Any) -> list[Any]:
    from pyomo.environ import Objective

    return list(model.component_data_objects(Objective, active=True, descend_into=True))


def write_model(
    model: Any, path: str | Path, spec: Spec | None = None, *, form: str | None = None, force: bool = False
) -> tuple[Path, ...]:
    """Write the model in the format of the extension (.lp, .mps, .nl, .gms), and ``FILE.names.json`` next to it.

    The names map to the lines of ``model.spans``, or else to the block of ``spec`` that the index names. The same model
    gives the same bytes. An nl file gets its names in .row and .col files, as AMPL does. A device, a pipe or standard
    output gets only the model.

    Args:
        form: A format (``lp``) instead of the extension.
        force: Overwrite existing files.

    Returns:
        The written paths.

    Raises:
        MrdslError: ``unknown-format``, also for a nonlinear model in a linear format; ``file-exists``;
            ``unwritable-file``.
    """
    path = Path(path)
    writer = writer_of(path, form)
    if spec is not None:
        model.block_spans = spans_of_blocks(spec.facts)
    if writer is None:
        hint = "use a file name that ends in " + ", ".join(endings(MODELS))
        raise one_error("unknown-format", f"unknown model format: `{path}`", hint=hint)
    with Together(force=force) as files:
        return _write(model, _Out(files, path, not is_through(path)), writer)


def writer_of(path: Path, form: str | None = None) -> ModelWriter | None:
    """Return the writer of the format with that name, or of the extension of the path."""
    return by_ending(MODELS, path.suffix) if form is None else named(MODELS, form)


def paths_of(path: Path, form: str | None = None) -> tuple[Path, ...]:
    """Return all files that :func:`write_model` writes for a path."""
    if is_through(path):
        return (path,)
    writer = writer_of(path, form)
    beside = writer.beside if writer is not None else ()
    return (path, *(path.with_suffix(ending) for ending in beside), _names_file(path))


@dataclass(frozen=True)
class _Out:
    """The target of a model, and True if further files are written next to it."""

    files: Together
    path: Path
    beside: bool

    def write(self, path: Path, text: str, encoding: str = "utf-8") -> None:
        with self.files.text(path, encoding) as stream:
            stream.write(text)


def _write(model: Any, out: _Out, writer: ModelWriter) -> tuple[Path, ...]:
    path = out.path
    subject, program = model, None
    if writer.linear:
        subject = linear_program(model)
        if subject is None:
            able = " or ".join(path.stem + one.endings[0] for one in MODELS if not one.linear)
            message = f"the model is not linear, and the format of `{path.name}` supports linear models only"
            raise one_error("unknown-format", message, hint=f"write {able}")
        program = subject[0]
    with out.files.text(path, writer.encoding) as stream:
        written = writer.load()(stream, subject, model.name or "mrdsl")
    if not out.beside:
        return (path,)
    beside = [path.with_suffix(ending) for ending in writer.beside]
    for place in beside:
        out.write(place, written.beside[place.suffix], writer.encoding)
    mark = None if program is None else fingerprint(program, [name for name, _ in written.columns])
    return path, *beside, _write_names(model, out, written, mark)


def _write_names(model: Any, out: _Out, written: Written, mark: str | None) -> Path:
    path = out.path
    goal = objective_of(model)
    sense = "maximize" if goal.sense < 0 else "minimize"
    spans = getattr(model, "spans", None) or {}
    document = {
        "format": 1,
        "model": path.name,
        **({"fingerprint": mark} if mark else {}),
        "goal": {"component": goal.name, "sense": sense, "written": written.sense or sense},
        "columns": {name: _entry(data, spans) for name, data in written.columns},
        "rows": {name: _entry(data, spans) for name, data in written.rows},
    }
    target = _names_file(path)
    out.write(target, json.dumps(document, indent=1) + "\n")
    return target


def _names_file(path: Path) -> Path:
    """``a.lp.names.json``: each model file has its own, also if two differ in their endings alone."""
    return path.with_name(path.name + ".names.json")


def _entry(data: Any, spans: Any) -> dict[str, Any]:
    span = span_of(data, spans)
    place = None if span is None else {"file": span.file, "line": span.line, "column": span.column}
    return {"component": data.name, "spec": place}


def span_of(data: Any, spans: Any) -> Span | None:
    """Return the line of the spec for a Pyomo variable or constraint, from ``model.spans``.

    Its keys are component names, or (component name, index) for one member; a member without a line takes that of the
    component.
    """
    component = data.parent_component().local_name
    indexed = data.parent_component().is_indexed()
    span: Span | None = spans.get((component, data.index())) if indexed else None
    whole: Span | None = spans.get(component)
    span = span if span is not None else whole
    if span is None and indexed:
        index = data.index()
        blocks = getattr(data.model(), "block_spans", None) or {}
        span = next(
            (blocks[part] for part in (index if isinstance(index, tuple) else (index,)) if part in blocks), None
        )
    return span


def spans_of_blocks(facts: Any) -> dict[str, Span]:
    """Return the place of every named block of the facts; names that two blocks share are left out."""
    spans: dict[str, Span | None] = {}
    for field in fields(facts):
        nodes = getattr(facts, field.name)
        for node in nodes if isinstance(nodes, Sequence) and not isinstance(nodes, str) else ():
            if isinstance(node, Node) and node.name and node.span is not None:
                spans[node.name] = None if node.name in spans else node.span
    return {name: span for name, span in spans.items() if span is not None}


@dataclass(frozen=True)
class Proof:
    """The user's statement about the solver's run: the model's names.json, and the proven gap or bound.

    ``gap`` is relative; ``bound`` is in the sense and unit of the objective.
    """

    names: Path | None = None
    gap: float | None = None
    bound: float | None = None


NOTHING = Proof()
KNOWN_SECONDS = 10.0
"""Time limit of the method that claims of a file are compared with [s]."""
CLAIMS = MappingProxyType(
    {Termination.INFEASIBLE: "no plan exists", Termination.UNBOUNDED: "the objective is unbounded"}
)
"""Claims about the model that no point in a file shows."""


def read_solution(
    spec: Spec,
    path: str | Path,
    form: str | None = None,
    formulation: str | None = None,
    relax: bool = False,
    proof: Proof = NOTHING,
) -> Result:
    """Return the plan of a solution file for the model that ``compile`` wrote of this spec, verified as usual.

    "Optimal" in a file is not a bound. A bound is claimed only if the file has the names of this model, and shadow
    prices in it or ``proof`` prove the bound. "Infeasible" in a file is an error if the family knows a plan; otherwise
    a warning reports the claim, and the termination is ``completed``.

    Args:
        form: A format of ``exchange.registry.SOLUTIONS``; by default it is detected.

    Raises:
        MrdslError: ``unreadable-solution``, ``unreadable-names`` or ``stale-model`` (exit code 2).
    """
    text = _read(Path(path))
    formulation, relax = asked(spec, formulation, relax)
    reader = named(SOLUTIONS, form) if form else recognized(SOLUTIONS, text)
    if reader is None:
        raise _unreadable(path, "its format was not recognized", f"pass `--format`; {listed(SOLUTIONS)}")
    model = build_model(spec, formulation, relax)
    extracted = linear_program(model)
    if extracted is None:
        raise _unreadable(path, "this formulation is not linear", "only solutions of linear formulations can be read")
    program, names = extracted
    columns, _ = column_and_row_names(program, names)
    if proof.names is not None:
        require_match(proof.names, program, columns)
    try:
        solution = reader.read(path, [])
        values = _values(solution, columns, program)
    except (FormatError, ValueError, IndexError) as cause:
        line, hint = (cause.line, cause.hint) if isinstance(cause, FormatError) else (1, "")
        raise _unreadable(path, str(cause), hint, line) from None
    bound, why_not = _bound(solution, values, program, proof)
    limits = Limits(gap=proof.gap)
    reply = Reply(solution.termination, values, bound=bound, message=solution.message)
    answer = replace(judge(reader.name, None, reply, program, names, limits), solver=reader.name, version=None)
    family = find_family(spec)
    chosen = formulation_named(family, formulation)
    claims = answer.bound is not None or answer.termination in CLAIMS
    known = _known(spec, family, chosen, relax) if claims else None
    if known is not None:
        maximize = goal_of(spec, family).sense == "maximize"
        answer = compared(answer, known, limits, maximize, method_of(chosen))
    if answer.solution is SolutionStatus.NONE:
        why_not = None
    if answer.termination in CLAIMS and (known is None or known.termination is not answer.termination):
        words = CLAIMS[answer.termination]
        why_not = f"its claim that {words} was not checked", "solve the spec with mrdsl: `mrdsl solve`"
        answer = replace(answer, termination=Termination.COMPLETED)
    result = _as_result(spec, model, answer, formulation, relax)
    result = replace(result, diagnostics=(*result.diagnostics, *doubts_of(answer, None)))
    if why_not and answer.termination is not Termination.ERROR:
        gives = "no plan" if answer.solution is SolutionStatus.NONE else "a plan without a proof"
        told = warning("unproven-solution", f"{path} gives {gives}: {why_not[0]}", None, why_not[1])
        result = replace(result, diagnostics=(*result.diagnostics, told))
    return result


def _bound(
    reply: Reply, values: Any, program: LinearProgram, proof: Proof
) -> tuple[float | None, tuple[str, str] | None]:
    """Return the bound that is known, in the goal's own sense; or why none is, and what would give one."""
    if proof.names is None:
        return None, (
            "nothing shows that it belongs to this model",
            "pass the model's names.json with `--names`, and the solver's `--gap` or `--bound`",
        )
    if values is None:
        return None, None
    value = program.objective(values)
    size = max(program.goal_size(values), abs(value))
    if reply.value is not None and not min(abs(reply.value - value), abs(reply.value + value)) <= AGREE * size:
        return None, (
            f"it states an objective of {reply.value:g}, but its columns evaluate to {value:g} in this model",
            "compile and solve again",
        )
    if proof.bound is not None:
        return proof.bound, None
    if proof.gap is not None:
        away = proof.gap * abs(value)
        return (value + away if program.maximize else value - away), None
    proven = program.dual_bound(reply.duals.tolist()) if reply.duals is not None else None
    if proven is not None:
        return proven, None
    return None, (
        "it has no bound, and 'optimal' only holds within the gap that the solver was given",
        "pass `--gap 0.0001` (the default of HiGHS), `--gap 0`, or the `--bound` that it printed",
    )


def _known(spec: Spec, family: Family, chosen: Formulation, relax: bool) -> Result | None:
    """Return a verified plan and a bound that the family finds without a solver, None if it has no such method."""
    if chosen.known is None:
        return None
    known = chosen.known(spec, relax, Limits(time=KNOWN_SECONDS))
    return None if known is None else verified(spec, family, known, relax)


def _as_result(spec: Spec, model: Any, answer: Answer, formulation: str | None, relax: bool) -> Result:
    if answer.solution is not SolutionStatus.NONE:
        fill_the_unused(model)
    result: Result = decoded(spec, model, answer, formulation, relax)
    return finish(spec, result, formulation, relax, {"name": answer.solver, "version": None})


def _read(path: Path) -> str:
    try:
        text, reason = decode(read_bytes(path))
    except UnreadableError as problem:
        raise _unreadable(path, str(problem), "") from None
    if text is None:
        raise _unreadable(path, reason, "")
    return text


def _unreadable(path: str | Path, reason: str, hint: str, line: int = 1) -> MrdslError:
    place = Span(str(path), line, 1, line, 1)
    return one_error("unreadable-solution", f"{path} cannot be read as a solution: {reason}", place, hint)


def _values(reply: Reply, columns: list[str], program: LinearProgram) -> Any:
    if reply.values is not None:
        expected = len(columns) + (program.offset != 0.0)
        if len(reply.values) != expected:
            message = f"it has {len(reply.values)} columns, this model {expected}: compile and solve again"
            raise FormatError(message)
        return reply.values[: len(columns)]
    if reply.named is None:
        return None
    strange = sorted(set(reply.named) - {*columns, "objective_constant"})
    if strange:
        raise FormatError(f"it names {strange[0]}, which is not in this model: compile and solve again")
    return np.array([reply.named.get(name, 0.0) for name in columns])
