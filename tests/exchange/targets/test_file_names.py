"""Names of the files of an export: one for each class and machine type, on every file system."""

from __future__ import annotations

import pytest

from tests.exchange.targets.plans import STAGES, exported

TASKS = """
problem capacity "Alike"
vm "{vms[0]}" {{ cores = 4, memory = 16 GiB, on_demand {{ price = 0.192 USD/h }} }}
vm "{vms[1]}" {{ cores = 4, memory = 16 GiB, on_demand {{ price = 0.193 USD/h }} }}
{classes}
minimize cost
"""
CLASS = """class "{name}" {{
  map {{ tasks = 37, avg = 30 s, max = 42 s }}
  shuffle {{ first_max = 11 s, avg = 37 s, max = 40 s }}
  reduce {{ tasks = 16, avg = 22 s, max = 44 s }}
  container {{ map {{ cores = 1, memory = 2 GiB }}, reduce {{ cores = 1, memory = 6 GiB }} }}
  types = ["{name}"], jobs = 2..3, deadline = 5 min, penalty = 12 USD
}}"""
ALIKE = [("Sort", "sort"), ("x" * 120 + "a", "x" * 120 + "B"), ("x" * 300, "X" * 300), ("a b", "A_B")]


@pytest.mark.parametrize("names", ALIKE, ids=[pair[0][:4] for pair in ALIKE])
@pytest.mark.parametrize("target", ["yarn", "spark", "kubernetes", "emr-serverless"])
def test_names_alike_get_files_of_their_own(target: str, names: tuple[str, str]) -> None:
    """Also on a disk that ignores case, and within the 255 bytes of a file's name."""
    if target == "yarn":
        text = TASKS.format(vms=names, classes="\n".join(CLASS.format(name=name) for name in names))
        beside = {"capacity-scheduler.xml", "fair-scheduler.xml"}
    else:
        text = STAGES.replace("class queries", f'class "{names[0]}"').replace("class nightly", f'class "{names[1]}"')
        beside = {"queues.yaml"}
    files = set(exported(text, target).files) - beside
    assert len({file.lower() for file in files}) == len(files) == (4 if target == "yarn" else 2)
    assert all(len(file.encode()) <= 255 for file in files)
