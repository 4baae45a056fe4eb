"""What the console lines of ``grammar/diagnostics/CODE.md`` presuppose: files, and faults that no file can bring about.

``nightly.mrspec`` is the reference spec of joint, unless a page needs another one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.result import Termination
from mrdsl.spec.spec import Spec
from tests.families.foreign.installing import install

ROOT = Path(__file__).resolve().parents[1]
Patch = pytest.MonkeyPatch


def model(path: str, *changes: tuple[str, str], more: str = "") -> str:
    """A shipped model with some words changed, and more at its end."""
    text = (ROOT / "models" / path).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, (path, old)
        text = text.replace(old, new)
    return text + more


REFERENCE = "capacity/reference.mrspec"


def _log(event: str, instead: str) -> str:
    """A shipped job history with something else in place of the first line of an event."""
    lines = model("logs/job_1700000000000_0001.jhist").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if event in line and number > 2)
    return "".join([*lines[:at], instead, *lines[at + 1 :]])


def _failed_log() -> str:
    """A shipped job history as that of another job, which failed after all its tasks."""
    text = model("logs/job_1700000000000_0001.jhist").replace("job_1700000000000_0001", "job_1700000000000_0099")
    return text.replace('"type":"JOB_FINISHED"', '"type":"JOB_FAILED"')


def _imports(depth: int) -> dict[str, str]:
    return {
        "nightly.mrspec": 'import "part1.mrspec"\n' + model(REFERENCE),
        **{f"part{n}.mrspec": f'import "part{n + 1}.mrspec"\n' for n in range(1, depth)},
        f"part{depth}.mrspec": "param last = 1\n",
    }


def _run_of_another_seed() -> str:
    """A saved run that names another seed than it had, sealed again."""
    seen = mrdsl.simulate(mrdsl.load(ROOT / "models" / "capacity" / "quickstart.mrspec"), runs=2, jobs=2, seed=1)
    plan: Any = seen.plan
    return replace(seen, seed=2, plan=replace(plan, simulated=replace(plan.simulated, seed=2))).to_json()


def _without_pygls(folder: Path, patch: Patch) -> None:
    """As where the extra is not installed, whatever has been imported in this process before."""
    for name in [name for name in sys.modules if name.startswith("pygls.") or name == "mrdsl.editor.server"]:
        patch.delitem(sys.modules, name)
    patch.setitem(sys.modules, "pygls", None)


DROWNED = (
    ("penalty  = 6 USD", "penalty = 1e25 USD"),
    ("vm m5 {", "vm c5 { on_demand { price = 0.17 USD/h }, available = 7 }\nvm m5 {"),
    ("slots   { map = 2, reduce = 1 }", "slots { map = 2, reduce = 1 }\n  on c5 { speed = 0.9 }"),
)
FILES: dict[str, Callable[[bool], dict[str, str]]] = {
    "better-plan": lambda bad: {"drowned.mrspec": model("capacity/quickstart.mrspec", *DROWNED)},
    "broken-plugin": lambda bad: {"nightly.mrspec": model(REFERENCE)},
    "broken-plan": lambda bad: {"nightly.mrspec": model(REFERENCE)},
    "objective-differs": lambda bad: {"nightly.mrspec": model(REFERENCE)},
    "contradicted-claim": lambda bad: {"nightly.mrspec": model(REFERENCE)},
    "broken-schedule": lambda bad: {
        "broken.mrspec": model("schedule/small.mrspec"),
        "small.csv": model("schedule/small.csv"),
    },
    "exact-form": lambda bad: {"tight.mrspec": model("energy/reference.mrspec", ("240 s", "180 s"))},
    "recorded-in-parts": lambda bad: {"times.txt": "60\n120\n180\n240\n"},
    "impossible-admission": lambda bad: {
        "nightly.mrspec": model(REFERENCE, more="param least = 25\nsubject to { admitted(sort) >= least }\n")
    },
    "impossible-budget": lambda bad: {"nightly.mrspec": model("energy/reference.mrspec", ("1.08 cent", "0.1 cent"))},
    "needs-formulation": lambda bad: {
        "nightly.mrspec": model(REFERENCE, more="subject to { completion(sort) >= 5 min }\n")
    },
    "needs-minimum": lambda bad: {
        "shop.mrspec": model(
            "joint/reference.mrspec",
            ("0.8 * 1200/s * peak", "0/s"),
            (" = 1.0  #", " = 0.5  #"),
            ("cluster {", "cluster {\n  reuse = paper"),
        )
    },
    "mean-in-fractions": lambda bad: {
        "mean.mrspec": model(
            "capacity/quickstart.mrspec", ("deadline = 15 min", "guarantee = mean\n  deadline = 15 min")
        )
    },
    "needs-fractions": lambda bad: {"whole.mrspec": model("capacity/quickstart.mrspec", more="whole = slots\n")},
    "needs-one-type": lambda bad: {
        "types.mrspec": model("capacity/quickstart.mrspec", more="vm other { on_demand { price = 1 USD/h } }\n"),
    },
    "no-delay-bound": lambda bad: {
        "tight.mrspec": model("hybrid/reference.mrspec", ("delay = 40 slots", "delay = 5 slots"))
    },
    "no-plan": lambda bad: {"nightly.mrspec": model(REFERENCE, more="subject to { vms <= 5 }\n")},
    "nothing-to-export": lambda bad: {"services-only.mrspec": _without_class(model("joint/reference.mrspec"))},
    "slots-beyond-vms": lambda bad: {
        name: model("capacity/quickstart.mrspec", more=f"whole = no\n{more}")
        for name, more in (("fractions.mrspec", ""), ("roomy.mrspec", "subject to { vms >= 243 }\n"))
    },
    "soft-deadline": lambda bad: {
        "firm.mrspec": model("capacity/quickstart.mrspec", ("  deadline =", "  guarantee = upper\n  deadline ="))
    },
    "malformed-plan": lambda bad: {"cut.json": '{"format": 1,', "nightly.mrspec": model("joint/reference.mrspec")},
    "edited-plan": lambda bad: {"edited.json": _edited_plan(), "nightly.mrspec": model(REFERENCE)},
    "other-runs": lambda bad: {"run.json": _run_of_another_seed()} if bad else {},
    "file-changed": lambda bad: {"nightly.mrspec": "\n\n" + model(REFERENCE)},
    "broken-log": lambda bad: {"broken.jhist": _log("MAP_ATTEMPT_STARTED", '{"type":"MAP_ATT\n')},
    "lost-events": lambda bad: {"lost.jhist": _log("MAP_ATTEMPT_FINISHED", "")},
    "partial-classes": lambda bad: {"failed.jhist": _failed_log()},
    "cut-log": lambda bad: {"cut.jhist": _log("JOB_FINISHED", "")},
    "empty-log": lambda bad: {"empty.jhist": ""},
    "no-classes": lambda bad: {"cut.jhist": _log("JOB_FINISHED", "")},
    "too-many-imports": lambda bad: _imports(70 if bad else 60),
    "too-many-mistakes": lambda bad: {
        "generated.mrspec": model(REFERENCE, more="".join(f"nonsense{n} = {n}\n" for n in range(1100)) if bad else "")
    },
}


def _without_class(text: str) -> str:
    head, _, rest = text.partition("class recommendations {")
    return head + rest.partition("\n}\n")[2]


def _edited_plan() -> str:
    """A saved plan with one VM less in the part that people read."""
    text = mrdsl.solve(mrdsl.loads(model("capacity/quickstart.mrspec"))).to_json()
    return re.sub(r'"on_demand": \d+,', '"on_demand": 1,', text, count=1)


def too_few_vms(draft: Draft) -> Draft:
    """A step of a wrong method: a good plan with half its VMs."""
    found: Any = mrdsl.solve(draft.spec, "direct")
    return replace(draft, plan=replace(found.plan, on_demand=0.0, reserved=0.0), value=found.objective.value)


def divides_by_zero(draft: Draft) -> Draft:
    """A step of a method that fails."""
    return replace(draft, value=1.0 / 0.0)


def too_cheap(draft: Draft) -> Draft:
    """A step of a wrong method: a good plan that is said to cost half."""
    found = mrdsl.solve(draft.spec, "direct")
    assert found.objective.value is not None
    return replace(draft, plan=found.plan, value=0.5 * found.objective.value)


def too_sure(draft: Draft) -> Draft:
    """A step of a wrong method: a plan with 20 VMs too many, and the proof that there is no better one."""
    found: Any = mrdsl.solve(draft.spec, "direct")
    return replace(draft, plan=replace(found.plan, on_demand=found.plan.on_demand + 20.0), bound=1e9)


def _method(folder: Path, patch: Patch, text: str) -> None:
    place = folder / "my-solvers"
    place.mkdir()
    path = place / "mysolver.toml"
    path.write_text(f'name = "mysolver"\nsummary = "one of my own"\n{text}', encoding="utf-8")
    path.chmod(0o600)
    place.chmod(0o700)
    patch.setenv("MRDSL_SOLVERS", str(place))


def _pipeline(name: str) -> Callable[[Path, Patch], None]:
    steps = f'kind = "pipeline"\n[pipelines.capacity]\nsteps = [{{ call = "tests.prepared_pages:{name}" }}]\n'
    return lambda folder, patch: _method(folder, patch, steps)


_SOLVER = 'kind = "solver"\nsolves = ["LP", "MILP"]\ninstall = "it is there"\n'


def _refuting(folder: Path, patch: Patch) -> None:
    """A solver that calls a good plan proven, with 20 VMs too many."""
    _method(folder, patch, f'{_SOLVER}[worker]\ncall = "tests.prepared_pages:too_dear"\n')


def too_dear(request: Any, report: Any) -> Reply:
    """HiGHS's answer with 20 of the dearest VMs more, called the best."""
    from mrdsl.solving.backends import highs

    values = highs.solve(request, report).values.copy()
    values[int(np.flatnonzero(request.program.costs > 0.0)[0])] += 20.0
    value = request.program.objective(values)
    return Reply(Termination.OPTIMAL, values, value, value)


def _raising(failure: Exception) -> Callable[[Path, Patch], None]:
    def solve(*_: Any, **__: Any) -> None:
        raise failure

    return lambda folder, patch: patch.setattr("mrdsl.planning.solve_spec.solve", solve)


def _broken_schedule(folder: Path, patch: Patch) -> None:
    from mrdsl.families.schedule.verify import verify as genuine

    def verify(spec: Spec, plan: Any, relax: bool) -> Iterable[Diagnostic]:
        return genuine(spec, replace(plan, cost=replace(plan.cost, total=plan.cost.total + 1.0)), relax)

    patch.setattr("mrdsl.families.schedule.verify.verify", verify)


def _solution(folder: Path, patch: Patch) -> None:
    """The solution file of another program, and the names of an older model."""
    from mrdsl.planning.solve_spec import build_model
    from mrdsl.planning.solver_files import write_model
    from tests.solving.outside import run_outside

    spec = mrdsl.load(folder / "nightly.mrspec")
    path, _ = write_model(build_model(spec), folder / "made.mps")
    run_outside("cbc", path)[1].rename(folder / "model.sol")
    older = mrdsl.loads(model("joint/reference.mrspec", ("45 cent", "46 cent")))
    write_model(build_model(older), folder / "old.lp")


def _wrong_solver(folder: Path, patch: Patch) -> None:
    _method(folder, patch, 'kind = "solver"\nsolves = ["LP"]\n[worker]\nrequires = "highspy"\n')


def _crashing(folder: Path, patch: Patch) -> None:
    command = 'program = "false"\nwrites = "mps"\narguments = ["{model}", "{solution}"]'
    _method(folder, patch, f'{_SOLVER}[command]\n{command}\nreads = "mrdsl.exchange.solutions.cbc:read"\n')


def _held(folder: Path, patch: Patch) -> None:
    holder = claimed_table(folder / "out.csv")
    patch.setattr(sys, "_held_for_a_test", holder, raising=False)


def _not_enough(folder: Path, patch: Patch) -> None:
    """The solver is asked although the first plan is proven."""
    patch.setattr("mrdsl.planning.solve_spec._Run._is_enough", lambda *_: False)


def _lost(folder: Path, patch: Patch) -> None:
    """A Dask cluster whose scheduler goes away at once."""
    from tests.sweeping.cluster import Cluster

    patch.setattr("mrdsl.sweeping.executors._connect", Cluster(lost_after=0).connect)


def claimed_table(path: Path) -> Any:
    """A sweep's journal that another run writes."""
    import fcntl

    journal = path.with_name(path.name + ".part").open("w", encoding="utf-8")
    fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return journal


BAD: dict[str, Callable[[Path, Patch], None]] = {
    "bad-solver-file": _wrong_solver,
    "broken-family": lambda folder, patch: install(
        folder / "site", patch, {"mrdsl.families": {"shop": "no_such_module:FAMILY"}}
    ),
    "broken-plugin": _pipeline("divides_by_zero"),
    "broken-plan": _pipeline("too_few_vms"),
    "objective-differs": _pipeline("too_cheap"),
    "contradicted-claim": _refuting,
    "broken-schedule": _broken_schedule,
    "busy-output": _held,
    "internal": _raising(ValueError("the fault")),
    "system-refuses": _raising(MemoryError()),
    "missing-extra": _without_pygls,
    "lost-scheduler": _lost,
    "better-plan": _not_enough,
    "missing-solver": lambda folder, patch: patch.setattr("mrdsl.solving.registry._importable", lambda *_: False),
    "other-sweep": lambda folder, patch: _text(folder / "out.csv.part", '{"sweep": "another"}\n'),
    "solver-failed": _crashing,
    "stale-model": _solution,
    "unproven-solution": _solution,
    "unreadable-names": _solution,
}


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def prepare(code: str, folder: Path, patch: Patch, *, bad: bool) -> None:
    """Makes the folder what the lines of a page's ``Bad`` or ``Good`` presuppose."""
    (folder / "models").symlink_to(ROOT / "models")
    (folder / "README.md").symlink_to(ROOT / "README.md")
    files = FILES[code](bad) if code in FILES else {}
    for name, text in {"nightly.mrspec": model("joint/reference.mrspec"), **files}.items():
        _text(folder / name, text)
    if bad and code in BAD:
        BAD[code](folder, patch)
