"""The page of semantics lists which family uses which part of `vm`."""

from __future__ import annotations

import re
from typing import Any

from mrdsl.families.capacity.facts import VmType as CapacityVm
from mrdsl.families.joint.facts import VmType as JointVm
from mrdsl.families.timetable.facts import VmType as TimetableVm
from mrdsl.spec.rented import RentedVm
from mrdsl.spec.schema import Block, declarations
from tests.sources import ROOT

FAMILIES: dict[str, Any] = {"capacity": CapacityVm, "joint": JointVm, "timetable": TimetableVm}


def test_the_table_shows_the_declarations() -> None:
    page = (ROOT / "docs" / "reference" / "semantics.md").read_text(encoding="utf-8")
    head, _, *rows = re.findall(r"^\|.*\|$", page.partition("## VM types")[2].partition("## ")[0], re.MULTILINE)
    assert re.findall(r"`(\w+)`", head)[1:] == list(FAMILIES)
    shown = {row.split("|")[1].strip(" `"): [cell.strip() == "yes" for cell in row.split("|")[2:-1]] for row in rows}
    declared = {}
    for name, each in declarations(RentedVm).items():
        word = f"{each.word} NAME" if isinstance(each, Block) and each.repeated else name
        declared[word] = [name in declarations(vm) for vm in FAMILIES.values()]
    assert shown == declared
