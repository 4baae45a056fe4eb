"""The gallery: every shipped model with its text and its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mrdsl

SECONDS = 5.0
"""A solve's limit: the energy workloads are not all proven in it, and their reports say so."""


def pages(root: Path, which: str) -> Iterator[tuple[str, str]]:
    """The gallery's index, a page for each model and its report; ``which`` is ``all``, ``references`` or ``none``."""
    if which not in ("all", "references", "none"):
        raise ValueError(f"MRDSL_GALLERY is `{which}`: all, references or none")
    shown = (
        []
        if which == "none"
        else sorted((root / "models").glob("*/reference.mrspec" if which == "references" else "*/*.mrspec"))
    )
    lines = ["# Gallery", "", "The shipped models, each with its plan.", ""]
    family = None
    for path in shown:
        spec = mrdsl.load(path)
        if path.parent.name != family:
            family = path.parent.name
            lines += ["", f"## {family}", ""]
        name = f"{family}-{path.stem}"
        lines.append(f"- [{path.stem}]({name}.md): {spec.title or 'no title'}")
        yield f"gallery/{name}.md", _page(path, name, root)
        yield f"gallery/{name}-report.html", _report(spec)
    yield "gallery/index.md", "\n".join([*lines, ""])


def _page(path: Path, name: str, root: Path) -> str:
    where = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8").rstrip("\n")
    report = f"{name}-report.html"
    command = f"mrdsl report {where} --time-limit {SECONDS:g} --analysis-time 0 -o report.html"
    style = "width: 100%; height: 40rem; border: 1px solid #8888"
    return (
        f"# {path.parent.name}: {path.stem}\n\n[The report of its plan]({report}), written by\n\n"
        f"```sh\n{command}\n```\n\n"
        f'<iframe src="{report}" title="The report of {where}" style="{style}"></iframe>\n\n'
        f"`{where}`:\n\n```mrspec\n{text}\n```\n"
    )


def _report(spec: mrdsl.Spec) -> str:
    return mrdsl.report(spec, limits=mrdsl.Limits(time=SECONDS), spend=0.0)
