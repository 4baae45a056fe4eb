"""``mrdsl check-plugin``: whether a plug-in does what every part of its kind does."""

from __future__ import annotations

from pathlib import Path

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, SOLVER_FAILED, print_diagnostics
from mrdsl.cli.outputs import say


@click.command("check-plugin")
@click.argument("folder", type=click.Path(path_type=Path))
@shared.as_json
def check_plugin(folder: Path, as_json: bool) -> int:
    """Run the solvers, pipelines and families that FOLDER declares on real models, and report their faults.

    The code in FOLDER is run: check what you trust.
    """
    from mrdsl.extending.checking import check_plugin as checked
    from mrdsl.reporting.diagnostics import as_document
    from mrdsl.reporting.document import to_json

    report = checked(folder)
    if as_json:
        tried = [
            {"what": one.what, "complaints": [as_document(each) for each in one.complaints]} for one in report.checked
        ]
        say(to_json({"format": 1, "passes": report.passes, "checked": tried}), nl=False)
    else:
        say(str(report), nl=False)
        print_diagnostics(report.complaints, {})
    return PLAN if report.passes else SOLVER_FAILED
