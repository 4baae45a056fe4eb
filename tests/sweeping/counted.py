"""A method of a test that notes each of its runs in a file before it plans."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import mrdsl
from mrdsl.contracts.pipeline import Draft

FILE = """kind = "pipeline"
summary = "counts its runs"
[pipelines.capacity]
steps = [{ call = "tests.sweeping.counted:counted" }]
"""


def counted(draft: Draft) -> Draft:
    """The plan of ``direct``, a moment after a line that says which run this is."""
    which = f"{draft.spec.parameters['more']:g} {draft.spec.seed}"
    handle = os.open(os.environ["MRDSL_TEST_COUNTS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{which}\n".encode())
    os.close(handle)
    if which == os.environ.get("MRDSL_TEST_POISON"):
        os._exit(9)
    time.sleep(float(os.environ.get("MRDSL_TEST_SECONDS", "0")))
    found = mrdsl.solve(draft.spec, "direct")
    return replace(draft, plan=found.plan, value=found.objective.value, bound=found.objective.bound)


def install(folder: Path) -> Path:
    """A folder of solver files with ``counted``."""
    place = folder / "my-solvers"
    place.mkdir(mode=0o700)
    path = place / "counted.toml"
    path.write_text(FILE, encoding="utf-8")
    path.chmod(0o600)
    return place
