"""``mrdsl diff``: the steps of an operator from one plan to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrdsl.cli import options as shared
from mrdsl.cli.boundary import PLAN, TO_DO
from mrdsl.cli.compare import Side, names_of, plan_of_side, spec_options
from mrdsl.cli.outputs import Outputs, say, say_wrapped
from mrdsl.cli.solve import exit_code
from mrdsl.core.diagnostics import MrdslError, error, number_of


@click.command()
@click.argument("last", type=click.Path(path_type=Path))
@click.argument("now", type=click.Path(path_type=Path))
@shared.overrides
@shared.method_options
@shared.time_limit
@click.option("--markdown", is_flag=True, help="Print Markdown, for a comment on a pull request.")
@shared.as_json
@shared.json_file
@shared.force
def diff(last: Path, now: Path, markdown: bool, as_json: bool, output: Path | None, force: bool, **options: Any) -> int:
    """List the changes from the plan LAST to the plan NOW, the smallest first.

    Both are saved plans, or specs, which are solved. Exit code 0 without changes, 5 with some.
    """
    from mrdsl.core.status import value_text
    from mrdsl.core.tables import cell_text
    from mrdsl.planning.difference import diff as find
    from mrdsl.reporting.document import to_json

    if markdown and as_json:
        hint = "remove one of them"
        raise MrdslError([error("wrong-option", "`--markdown` and `--json` both set the output", None, hint)])
    outputs = Outputs({"-o": output}, force, as_json)
    outputs.check(last, now, options["data"])
    sides = [Side(last), Side(now)]
    results = [plan_of_side(side, spec_options(side, sides, options), outputs) for side in sides]
    if results[1].plan is None:
        message = f"`{now}` has no plan to compare with: it ended as {results[1].termination}"
        raise MrdslError([error("no-plan", message, None, f"run `mrdsl why {now}`")], exit_code(results[1]))
    first, second = names_of(sides)
    found = find(results[0], results[1], (first, second))
    if outputs.to_standard_output is None:
        outputs.write("-o", to_json(found.document()))
    if as_json or outputs.to_standard_output is not None:
        say(to_json(found.document()), nl=False)
    elif markdown:
        say(found.to_markdown(), nl=False)
    else:
        for line in found.lines():
            say_wrapped(line)
        goals = [result.objective for result in results]
        if goals[1].value is not None:
            same = goals[0].value is None or goals[0].period == goals[1].period
            before = cell_text(goals[0].value) if same else value_text(goals[0])
            say_wrapped(f"{goals[1].quantity}: {before} to {value_text(goals[1])}", err=True)
        count = len(found.changes)
        say(number_of(count, "change") if count else "nothing to do", err=True)
        if found.note:
            say_wrapped(found.note, err=True)
    return TO_DO if found.changes else PLAN
