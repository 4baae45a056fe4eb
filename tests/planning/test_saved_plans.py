"""Saved plans: what is written, what is read back, and what is believed of it."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.planning import saved_specs
from mrdsl.planning.saved_plans import fingerprint, read_saved
from mrdsl.planning.verified_plans import read_file, verify
from tests.command_lines import run_here

MODELS = Path(str(resource("models")))


@cache
def saved(path: str) -> str:
    return mrdsl.solve(mrdsl.load(MODELS / path), limits=mrdsl.Limits(time=20.0)).to_json()


QUICK = "capacity/quickstart.mrspec"
VARIED = (
    QUICK,
    "capacity/stages.mrspec",
    "capacity/table2_100.mrspec",
    "bounds/table3.mrspec",
    "joint/S1.mrspec",
    "deadline/from-dot.mrspec",
    "deadline/groups.mrspec",
    "energy/classif-small.mrspec",
    "makespan/production.mrspec",
    "schedule/recorded-prices.mrspec",
    "hybrid/recorded.mrspec",
)


@pytest.mark.parametrize("path", VARIED)
def test_what_is_read_back_is_what_was_written(path: str) -> None:
    spec = mrdsl.load(MODELS / path)
    assert mrdsl.Spec.from_json(spec.to_json()) == spec
    result = mrdsl.solve(spec, limits=mrdsl.Limits(gap=0.05))
    back = mrdsl.Result.from_json(result.to_json())
    assert back == result
    assert back.to_json() == result.to_json()
    assert verify(read_saved(result.to_json())).found == ()
    assert pickle.loads(pickle.dumps(back)) == result


def test_a_relaxed_plan_is_held_against_what_it_promises() -> None:
    result = mrdsl.solve(mrdsl.load(MODELS / QUICK), relax=True)
    back = mrdsl.Result.from_json(result.to_json())
    assert back == result
    assert back.relaxed
    assert verify(read_saved(result.to_json())).kept


def test_the_same_spec_gives_the_same_bytes_but_for_the_times() -> None:
    first, second = (json.loads(mrdsl.solve(mrdsl.load(MODELS / QUICK)).to_json()) for _ in range(2))
    del first["seconds"], second["seconds"]
    assert json.dumps(first) == json.dumps(second)


def changed(text: str, change: Callable[[dict[str, Any]], None], *, sealed: bool = True) -> str:
    """A saved plan with something changed; ``sealed``: by somebody who worked out its fingerprint anew."""
    document = json.loads(text)
    change(document)
    return json.dumps({**document, "fingerprint": fingerprint(document)} if sealed else document)


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


EDITED = {
    "a number that people read": (put("plan", "vms", "m5", "on_demand", value=199), "edited-plan"),
    "the state behind it": (put("state", "on_demand", value=199.0), "broken-plan"),
    "a number that is none": (put("state", "vm_cost", value=None), "edited-plan"),
    "fewer jobs than promised": (put("state", "admitted", value=[1.0, 1.0]), "broken-plan"),
    "another value": (put("objective", "value", value=40.0), "edited-plan"),
    "a bound beyond the value": (put("objective", "bound", value=50.0), "edited-plan"),
    "another goal": (put("objective", "sense", value="maximize"), "edited-plan"),
    "a stricter deadline": (put("spec", "facts", "classes", 0, "deadline", value=300.0), "edited-plan"),
    "arrays of other lengths": (put("state", "admitted", value=[1.0]), "malformed-plan"),
    "a spec that is wrong": (put("spec", "facts", "classes", 0, "deadline", value=-1.0), "out-of-range"),
}


@pytest.mark.parametrize("case", EDITED)
@pytest.mark.parametrize("sealed", [True, False])
def test_a_plan_that_was_edited_is_found(case: str, sealed: bool) -> None:
    change, code = EDITED[case]
    text = changed(saved(QUICK), change, sealed=sealed)
    with pytest.raises(mrdsl.MrdslError) as refused:
        verify(read_saved(text, "plan.json")).require()
    assert code in [d.code for d in refused.value.diagnostics if d.severity == "error"]


def test_words_of_params_are_kept() -> None:
    text = (MODELS / QUICK).read_text(encoding="utf-8")
    line = "deadline = 15 min"
    assert line in text
    text = text.replace(line, line + "\n  guarantee = level").replace("\nvm ", "\nparam level = upper\n\nvm ", 1)
    result = mrdsl.solve(mrdsl.loads(text))
    back = mrdsl.Result.from_json(result.to_json())
    assert back == result
    assert back.spec.parameters["level"] == "upper"
    assert verify(read_saved(result.to_json())).found == ()


def test_a_view_may_lack_what_its_version_did_not_know() -> None:
    """As in a file of an earlier version; one that was edited is another matter."""
    dropped = changed(saved(QUICK), lambda document: document["plan"]["cost"].popitem(), sealed=True)
    assert verify(read_saved(dropped)).found == ()
    unsealed = changed(saved(QUICK), lambda document: document["plan"]["cost"].popitem(), sealed=False)
    assert not verify(read_saved(unsealed)).kept


def test_an_edit_that_keeps_every_promise_loses_its_proof() -> None:
    """Another version of the solver harms nothing, yet an edit of the file may be one of its bound too."""
    was = read_saved(saved(QUICK)).result
    assert was.solution == "optimal"
    found = verify(read_saved(changed(saved(QUICK), put("solver", "version", value="9"), sealed=False)))
    assert found.kept
    assert [d.code for d in found.found] == ["edited-plan"]
    assert (found.result.solution, found.result.bound) == ("feasible", None)


MALFORMED = {
    "nothing": ("", ""),
    "no JSON": ("{", ""),
    "a list": ("[]", ""),
    "no version": ("{}", "format"),
    "a version that is none": ('{"format": "1"}', "format"),
    "a newer version": ('{"format": 999}', "format"),
    "what --json prints": ('{"format": 1, "termination": "optimal"}', ""),
    "not a number": ('{"format": NaN}', ""),
    "a number of 5,000 digits": ('{"format": ' + "1" * 5000 + "}", ""),
    "brackets without end": ("[" * 100_000, ""),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_no_plan_is_told(case: str) -> None:
    text, place = MALFORMED[case]
    with pytest.raises(mrdsl.MrdslError) as refused:
        read_saved(text, "plan.json")
    (told,) = refused.value.diagnostics
    assert (told.code, told.place) == ("malformed-plan", "plan.json")
    assert place in told.message


PLACES = {
    "spec.problem": put("spec", "problem", value="no-such"),
    "spec.facts": put("spec", "facts", value=7),
    "spec.facts.classes[0].deadline": put("spec", "facts", "classes", 0, "deadline", value="soon"),
    "spec.facts.classes[0].nonsense": put("spec", "facts", "classes", 0, "nonsense", value=1),
    "spec.seed": put("spec", "seed", value=1.5),
    "spec.span": put("spec", "span", value="somewhere"),
    "spec.nonsense": put("spec", "nonsense", value=1),
    "state": put("state", value=None),
    "state.is": put("state", "is", value="os.system"),
    "state.on_demand": put("state", "on_demand", value=True),
    "state.admitted": put("state", "admitted", value=[1.0, [2.0]]),
    "state.names": put("state", "names", value="two"),
    "state.stages": put("state", "stages", value=[0.5, 0.5]),
    "termination": put("termination", value="done"),
    "objective.value": put("objective", "value", value="cheap"),
    "diagnostics": put("diagnostics", value={}),
    "files": put("files", value={"0": 1}),
    "files[0].name": put("files", 0, "name", value=None),
    "files[0].content": put("files", 0, "content", value="no base64"),
    "relaxed": put("relaxed", value="no"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_part_that_is_not_what_it_should_be_is_named(place: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        read_saved(changed(saved(QUICK), PLACES[place]), "plan.json")
    (told,) = refused.value.diagnostics
    assert told.code == "malformed-plan"
    assert told.message.startswith(f"`{place}` "), told.message


def test_infinity_where_nobody_looks_is_an_edit() -> None:
    text = saved(QUICK).replace('"total":', '"total": 1e999, "other":', 1)
    assert text != saved(QUICK)
    assert [d.code for d in verify(read_saved(text)).found if d.severity == "error"] == ["edited-plan"]


def test_infinity_is_no_number() -> None:
    text = re.sub(r'"on_demand": \d+\.0', '"on_demand": 1e999', saved(QUICK), count=1)
    assert text != saved(QUICK)
    with pytest.raises(mrdsl.MrdslError, match=r"state\.on_demand"):
        read_saved(text)


def test_a_plan_brings_its_data_along(tmp_path: Path) -> None:
    """Recorded arrivals are read when the spec is used: with the plan alone, they are the same."""
    for name in ("recorded.mrspec", "recorded.csv"):
        found = next((MODELS / "hybrid").glob(name if name.endswith("mrspec") else "*.csv"))
        (tmp_path / found.name).write_bytes(found.read_bytes())
    spec = mrdsl.load(tmp_path / "recorded.mrspec")
    result = mrdsl.solve(spec)
    text = result.to_json()
    states = dict(verify(read_saved(text)).files)
    assert set(states.values()) == {"same"}
    for path in tmp_path.iterdir():
        path.unlink()
    found_again = verify(read_saved(text))
    assert {state for _, state in found_again.files} == {"missing"}
    assert found_again.kept
    assert {d.code for d in found_again.found} == {"file-changed"}
    assert mrdsl.solve(found_again.result.spec).plan == result.plan
    assert json.loads(found_again.result.to_json())["files"] == json.loads(text)["files"]


def test_a_file_that_has_changed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "night.mrspec"
    path.write_bytes((MODELS / QUICK).read_bytes())
    text = mrdsl.solve(mrdsl.load(path)).to_json()
    path.write_text(path.read_text() + "\n", encoding="utf-8")
    found = verify(read_saved(text, "plan.json"))
    assert found.kept
    assert [(d.code, d.place) for d in found.found] == [("file-changed", "plan.json")]


def test_data_that_a_plan_names_is_its_own(tmp_path: Path) -> None:
    """A plan from a stranger leads to no other file: what is not part of the plan must have the fingerprint."""
    secret = tmp_path / "secret"
    secret.write_text("1\n2\n")
    text = saved("hybrid/recorded.mrspec")
    document = json.loads(text)
    data = next(i for i, file in enumerate(document["files"]) if "content" in file)

    def steal(document: dict[str, Any]) -> None:
        del document["files"][data]["content"]
        document["files"][data]["path"] = str(secret)

    with pytest.raises(mrdsl.MrdslError, match=r"spec\.facts\.recorded\.file.*not part of the plan"):
        read_saved(changed(text, steal))


def test_a_bomb_in_a_plan_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = saved("hybrid/recorded.mrspec")
    monkeypatch.setattr("mrdsl.core.budgets.SAVED_BYTES", 100)
    with pytest.raises(mrdsl.MrdslError, match=r"files\[\d\]\.content.*contains more than"):
        read_saved(text)


def test_a_spec_without_a_file_is_saved() -> None:
    spec = mrdsl.load(MODELS / QUICK)
    built = replace(spec, file="", text="", files=(), span=None, spans={})
    assert mrdsl.Spec.from_json(built.to_json()) == built


def test_a_result_that_knows_no_spec_is_not_saved() -> None:
    with pytest.raises(mrdsl.MrdslError, match="has no spec"):
        mrdsl.Result(mrdsl.Termination.OPTIMAL).to_json()


def test_equality_is_by_value() -> None:
    first = mrdsl.Result.from_json(saved(QUICK))
    plan: Any = first.plan
    other = replace(first, plan=replace(plan, admitted=plan.admitted + 1.0))
    assert first == mrdsl.Result.from_json(saved(QUICK))
    assert first != other
    assert np.array_equal(plan.admitted, plan.admitted)


def test_a_plan_of_an_older_version_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a change of the form by which `found` is called `solution`, and the formulation has another name."""
    document = json.loads(saved(QUICK))
    document["found"] = document.pop("solution")
    document["formulation"] = "Nightly"
    today = json.dumps({**document, "fingerprint": fingerprint(document)})

    def renamed(document: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in document.items() if key != "found"}
        return {
            **kept,
            "solution": document["found"],
            "formulation": f"{document['formulation']} ({document['problem']})",
        }

    monkeypatch.setattr(saved_specs, "FORMAT", saved_specs.FORMAT + 1)
    monkeypatch.setattr(saved_specs, "MIGRATIONS", {saved_specs.FORMAT - 1: renamed})
    back = mrdsl.Result.from_json(today)
    assert (back.formulation, back.solution) == ("Nightly (capacity)", "optimal")
    assert verify(read_saved(today)).found == ()


@pytest.mark.parametrize("seed", [None, 7])
def test_facts_of_a_program_are_not_held_to_the_text_that_they_came_from(seed: int | None) -> None:
    spec = mrdsl.load(MODELS / QUICK)
    changed = replace(spec, facts=replace(spec.facts, whole="no"), seed=seed)
    text = mrdsl.solve(changed).to_json()
    assert json.loads(text)["spec"]["text"] == ""
    found = verify(read_saved(text))
    assert found.found == ()
    assert "the spec, which has no text" in found.trust.taken
    assert json.loads(saved(QUICK))["spec"]["text"] == spec.text


@pytest.mark.parametrize("version", [3, 999])
def test_a_plan_of_another_version_is_refused_with_what_to_do(version: int) -> None:
    document = {**json.loads(saved(QUICK)), "format": version}
    with pytest.raises(mrdsl.MrdslError, match=f"is {version}, and this mrdsl reads version") as told:
        read_saved(json.dumps(document))
    assert "solve its spec again, or use the version" in told.value.diagnostics[0].hint


STAGES = """problem capacity "recorded"
vm m5 { on_demand { price = 0.192 USD/h } }
class a {
  stage "in" { tasks = 8, avg = 20 s, max = 30 s, samples = "times.txt" }
  stage out { tasks = 4, avg = 10 s, max = 12 s, after = ["in"] }
  slots { task = 4 }, jobs = 1..2, deadline = 10 min, penalty = 20 USD
}
minimize cost
"""


def with_samples(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "times.txt").write_text("".join(f"{time}\n" for time in (18, 19, 20, 21, 22, 30)))
    (folder / "night.mrspec").write_text(STAGES)
    return folder / "night.mrspec"


def test_a_plan_of_stages_with_samples_is_read_back(tmp_path: Path) -> None:
    """Its plan holds the stages, and these name the file of their times."""
    result = mrdsl.solve(mrdsl.load(with_samples(tmp_path)))
    text = result.to_json()
    back = mrdsl.Result.from_json(text)
    assert back == result
    assert back.to_json() == text
    assert verify(read_saved(text)).found == ()
    assert mrdsl.simulate(back) == mrdsl.simulate(result)


def all_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in all_texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in all_texts(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("plan", ["plan.json", "plans/night/plan.json", "../plan.json"])
def test_a_saved_plan_names_its_files_as_seen_from_its_own(plan: str, tmp_path: Path) -> None:
    """The folder of spec and plan moves, and the plan neither changes nor loses its files."""
    texts = []
    for machine in ("one", "two"):
        home = tmp_path / machine
        with_samples(home / "repo")
        target = home / "repo" / plan
        target.parent.mkdir(parents=True, exist_ok=True)
        assert run_here(("solve", "night.mrspec", "-o", plan), home / "repo").exit_code == 0
        document = json.loads(target.read_text())
        assert not [text for text in all_texts(document) if str(tmp_path) in text]
        texts.append({key: value for key, value in document.items() if key != "seconds"})
    assert texts[0] == texts[1]
    (tmp_path / "one").rename(tmp_path / "three")
    saved = read_file(tmp_path / "three" / "repo" / plan)
    assert {file.state() for file in saved.files} == {"same"}
    assert {Path(file.path).parent for file in saved.files} == {tmp_path / "three" / "repo"}


def test_a_plan_behind_a_link_or_a_pipe_names_files_that_are_found(tmp_path: Path) -> None:
    """Read by the link, by its target, and from another folder than the one of /dev/stdout."""
    with_samples(tmp_path / "repo")
    (tmp_path / "plans").mkdir()
    (tmp_path / "repo" / "plan.json").symlink_to("../plans/real.json")
    assert run_here(("solve", "night.mrspec", "-o", "plan.json"), tmp_path / "repo").exit_code == 0
    for place in (tmp_path / "repo" / "plan.json", tmp_path / "plans" / "real.json"):
        assert {file.state() for file in read_file(place).files} == {"same"}
    command = [sys.executable, "-m", "mrdsl", "solve", "night.mrspec", "-o", "/dev/stdout"]
    done = subprocess.run(command, cwd=tmp_path / "repo", capture_output=True, text=True, check=True)
    (tmp_path / "plan.json").write_text(done.stdout)
    assert {file.state() for file in read_file(tmp_path / "plan.json").files} == {"same"}


def test_a_plan_is_the_same_whether_its_spec_was_named_by_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = with_samples(tmp_path / "a").resolve()
    monkeypatch.chdir(tmp_path)
    texts = [
        mrdsl.solve(mrdsl.load(each)).to_json(folder=str(tmp_path)) for each in (whole, whole.relative_to(tmp_path))
    ]
    one, other = ({**json.loads(text), "seconds": None} for text in texts)
    assert str(tmp_path) not in texts[0]
    assert one == other


def test_absolute_names_of_files_are_read_too(tmp_path: Path) -> None:
    spec = mrdsl.load(with_samples(tmp_path / "a"))
    text = mrdsl.solve(spec).to_json()
    assert str(tmp_path) in text
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "plan.json").write_text(text)
    assert {file.state() for file in read_file(tmp_path / "b" / "plan.json").files} == {"same"}


def test_a_spec_in_place_of_a_plan_is_named_as_one() -> None:
    with pytest.raises(mrdsl.MrdslError, match="it is a spec, but a saved plan is required"):
        read_saved('problem capacity "x"\n', "night.mrspec")
    with pytest.raises(mrdsl.MrdslError, match="it is not valid JSON"):
        read_saved('problem capacity "x"\n', "plan.json")


def test_a_joint_plan_of_version_4_has_the_rounds_of_the_paper() -> None:
    """The default of version 4, which such a plan leaves out."""
    text = (MODELS / "joint" / "reference.mrspec").read_text(encoding="utf-8")
    assert "reuse" not in text
    spec = mrdsl.loads(text.replace("cluster {", "cluster { reuse = paper", 1))
    document = json.loads(mrdsl.solve(spec).to_json())
    del document["spec"]["facts"]["cluster"]["reuse"]
    document["spec"]["text"] = ""
    older = {**document, "format": 4}
    found = verify(read_saved(json.dumps({**older, "fingerprint": fingerprint(older)})))
    assert found.kept, found.found
    assert found.result.spec.facts.cluster.reuse == "paper"
    assert read_saved(json.dumps(document)).result.spec.facts.cluster.reuse is None
