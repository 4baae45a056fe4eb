"""Parts of plans by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.core.by_name import ByName
from mrdsl.core.resources import resource

MODELS = Path(str(resource("models")))


def test_a_value_is_made_when_it_is_asked_for() -> None:
    asked: list[int] = []

    def at(place: int) -> int:
        asked.append(place)
        return place * 10

    named = ByName(["a", "b", "c"], at)
    assert (list(named), len(named), "b" in named, "z" in named) == (["a", "b", "c"], 3, True, False)
    assert asked == []
    assert named["b"] == 10
    assert dict(named) == {"a": 0, "b": 10, "c": 20}
    with pytest.raises(KeyError, match="did you mean `a`"):
        named["aa"]


def test_the_classes_of_a_plan() -> None:
    plan = mrdsl.solve(mrdsl.load(MODELS / "capacity/quickstart.mrspec"), "direct").of(mrdsl.CapacityPlan).plan
    assert plan is not None
    assert list(plan.classes) == list(plan.names)
    for place, name in enumerate(plan.names):
        assert plan.classes[name].admitted == plan.admitted[place]


def test_classes_and_services_of_a_day() -> None:
    plan = mrdsl.solve(mrdsl.load(MODELS / "joint/reference.mrspec")).of(mrdsl.JointPlan).plan
    assert plan is not None
    for place, name in enumerate(plan.class_names):
        assert np.array_equal(plan.of_class(name).vms, plan.classes.vms[:, place])
    for place, name in enumerate(plan.service_names):
        assert np.array_equal(plan.of_service(name).rate, plan.services.rate[:, place])
    with pytest.raises(KeyError, match="nothing"):
        plan.of_class("nothing")
