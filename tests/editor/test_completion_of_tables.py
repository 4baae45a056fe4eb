"""Inside the braces of a table or a catalogue: what its rows may say, and what they are required to have."""

from __future__ import annotations

import pytest

from mrdsl.editor.completion import complete
from mrdsl.editor.written import Written

OWN = {"prices", "spot_prices"}


@pytest.mark.parametrize(
    ("head", "there", "absent"),
    [
        ('vms from "types.csv" {', {"require", "fee", "spot"}, OWN),
        ('vms from ec2("types.csv") {', {"require", "fee", "spot"} | OWN, set()),
        ('vms from "types.csv" {\n require {', {"name", "cores", "memory", "spot"}, {"require"} | OWN),
        ("vm m5 {", {"fee", "spot"}, {"require"} | OWN),
        ("require {", set(), {"cores", "name"}),
    ],
)
def test_what_may_be_written_there(head: str, there: set[str], absent: set[str]) -> None:
    text = f"problem capacity\n{head}\n  \n}}\n"
    labels = {each.label for each in complete(Written(text), 3 + head.count("\n"), 3)}
    assert there <= labels
    assert not absent & labels
