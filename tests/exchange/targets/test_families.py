"""What each family's plans can be written as, and what is said where one cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mrdsl
from mrdsl.exchange.markup import read_spark_settings
from mrdsl.exchange.registry import TARGETS, names
from mrdsl.exchange.targets.deployment import Exported, Wishes
from mrdsl.exchange.targets.spark import mib
from mrdsl.families import SHIPPED, family
from mrdsl.planning.exporting import export
from tests.exchange.targets.plans import MACHINES, STAGES
from tests.exchange.targets.plans import exported as of_text

MODELS = Path(__file__).resolve().parents[3] / "models"
ONE_TYPE = MACHINES[: MACHINES.index('vm "r5')] + MACHINES[MACHINES.index("class") :]
SIZED = Wishes(cores=5.0, memory=17.0 * 2**30)


def exported(model: str, form: str, wishes: Wishes | None = None) -> Exported:
    spec = mrdsl.load(MODELS / model)
    plan = mrdsl.solve(spec).plan
    assert plan is not None
    return export(spec, plan, form, wishes or Wishes())


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("form", names(TARGETS))
def test_what_cannot_be_asked_of_a_target_names_those_that_can(name: str, form: str) -> None:
    from mrdsl.planning.exporting import writer_of

    spec = mrdsl.load(MODELS / name / "reference.mrspec")
    declared = family(name)
    assert declared is not None
    can = names(declared.targets() if declared.targets is not None else ())
    if form in can:
        assert writer_of(spec, form)
        return
    with pytest.raises(mrdsl.MrdslError) as refused:
        writer_of(spec, form)
    (told,) = refused.value.diagnostics
    assert told.code == "unknown-form"
    assert form in told.message
    assert all(f"`{other}`" in told.hint for other in can)


def test_web_servers_on_emr() -> None:
    with pytest.raises(mrdsl.MrdslError, match="a joint plan cannot be written as `emr`") as refused:
        exported("joint/reference.mrspec", "emr")
    assert refused.value.diagnostics[0].hint == "supported formats: `yarn`, `spark`, `kubernetes`, `sls`"


def test_every_job_of_energy_has_a_cluster_of_its_own() -> None:
    spec = mrdsl.load(MODELS / "energy" / "reference.mrspec")
    result = mrdsl.solve(spec)
    called = Wishes(names={vm.name: "m5.xlarge" for vm in spec.facts.vms})
    made = export(spec, result.plan, "emr", called)  # type: ignore[arg-type]
    jobs = result.plan.document()["jobs"]
    assert len(made.files) == len(jobs)
    rented = 0
    for text in made.files.values():
        groups = json.loads(text)["Instances"]["InstanceGroups"]
        rented += sum(group["InstanceCount"] for group in groups if group["InstanceRole"] != "MASTER")
    assert rented == len(result.plan.document()["vms"])


def test_a_run_of_a_schedule_is_simulated_by_yarn() -> None:
    spec = mrdsl.load(MODELS / "schedule" / "small.mrspec")
    plan = mrdsl.solve(spec).plan
    files = export(spec, plan, "sls", Wishes()).files  # type: ignore[arg-type]
    jobs = files["sls-jobs.json"].count('"job.id"')
    assert jobs == plan.document()["jobs"]["count"]
    rented = [row for row in plan.trace().rows if row[1] == "rent"]
    machines = len(json.loads(files["sls-nodes.json"])["nodes"])
    assert max(row[6] for row in rented) <= machines <= sum(row[6] for row in rented)


def test_joint_classes_are_sized_by_what_the_user_says_of_a_machine() -> None:
    """A core and a GiB of 5 and 17 are the system's: 4 GiB for each of 4 maps, 8 GiB for 2 reduces."""
    with pytest.raises(mrdsl.MrdslError, match="the cores and memory of a") as asked:
        exported("joint/reference.mrspec", "spark")
    assert "--cores 4 --memory '16 GiB'" in asked.value.diagnostics[0].hint
    (text,) = exported("joint/reference.mrspec", "spark", SIZED).files.values()
    found = read_spark_settings(text)
    assert sum(mib(found[f"spark.executor.memory{end}"]) or 0 for end in ("", "Overhead")) % 1024 == 0
    made = exported("joint/reference.mrspec", "yarn", SIZED)
    assert any(name.startswith("yarn-site-vm") for name in made.files)


def test_the_same_plan_is_the_same_bytes_saved_or_solved(tmp_path: Path) -> None:
    spec = mrdsl.load(MODELS / "capacity" / "quickstart.mrspec")
    result = mrdsl.solve(spec)
    called = Wishes(names={"m5": "m5.xlarge"})
    path = tmp_path / "plan.json"
    path.write_text(result.to_json(), encoding="utf-8")
    saved = mrdsl.load_plan(path)
    once = export(spec, result.plan, "emr", called)  # type: ignore[arg-type]
    assert once == export(saved.spec, saved.plan, "emr", called)  # type: ignore[arg-type]
    again = mrdsl.solve(mrdsl.load(MODELS / "capacity" / "quickstart.mrspec"))
    assert once == export(spec, again.plan, "emr", called)  # type: ignore[arg-type]


def test_the_shipped_stages_run_on_spark() -> None:
    for text in exported("capacity/stages.mrspec", "spark", SIZED).files.values():
        assert int(read_spark_settings(text)["spark.executor.cores"]) >= 1


@pytest.mark.parametrize("wishes", [Wishes(cores=0.0), Wishes(memory=float("nan")), Wishes(memory=float("inf"))])
def test_sizes_that_are_none_are_refused(wishes: Wishes) -> None:
    with pytest.raises(mrdsl.MrdslError, match="must be above 0"):
        exported("joint/reference.mrspec", "spark", wishes)


def test_every_file_says_where_it_comes_from_and_what_it_lacks() -> None:
    """In comments, tags, or an object of its own, whichever the format has."""
    plans = {"spark": STAGES, "kubernetes": STAGES, "emr-serverless": STAGES}
    wishes = {"dataproc": Wishes(names={"m5.xlarge": "n2-standard-4"})}
    for form in names(TARGETS):
        text = plans.get(form, ONE_TYPE)
        made = of_text(text, form, wishes.get(form))
        assert made.notes, form
        for name, file in made.files.items():
            assert "sha256:" in file, name
            assert mrdsl.__version__ in file, name
            assert made.notes[0].split(" - ")[0].split(":")[0][:30] in file, name
