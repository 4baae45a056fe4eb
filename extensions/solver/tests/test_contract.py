"""my-milp does what mrdsl asks of every plug-in of its kind."""

from pathlib import Path

import mrdsl


def test_it_passes_the_contract() -> None:
    report = mrdsl.check_plugin(Path(__file__).parents[1])
    assert report.checked
    assert report.complaints == ()
