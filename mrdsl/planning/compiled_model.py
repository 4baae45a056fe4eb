"""A compiled spec that is changed and solved again, without doing again what did not change.

compiled = mrdsl.compile(mrdsl.load("nightly.mrspec"))
for peak in (1.0, 1.1, 1.2):
    compiled.update(peak=peak)
    print(compiled.solve().objective.value)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import one_error
from mrdsl.core.result import Limits, Result
from mrdsl.planning.solve_spec import compile_model, solve
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
