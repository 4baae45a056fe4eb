"""The gallery: shipped models with their texts and reports, and pictures of the answers to common questions.

What is computed is kept in `.cache/gallery` until the code or the text changes.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
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
        family_files = "".join(str(each.stat().st_mtime_ns) for each in sorted(path.parent.iterdir()))
        key = f"{path.read_text(encoding='utf-8')}{family_files}"
        yield f"gallery/{name}-report.html", _kept(root, key, lambda spec=spec: _report(spec))
    yield "gallery/index.md", "\n".join([*lines, ""])


QUESTIONS = "docs/questions/"


def with_picture(root: Path, source: str, text: str) -> tuple[str, str]:
    """The page of a question with a picture of its plan, and the picture as SVG."""
    files = dict(re.findall(r"^```\w+\n# file: (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    spec = next((each for each in files if each.endswith(".mrspec")), None)
    assert spec is not None, source
    name = f"{Path(source).stem}.svg"
    picture = _kept(root, repr(files), lambda: _picture(spec, files))
    return f"{text}\n![The plan]({name})\n", picture


def _picture(spec: str, files: Mapping[str, str]) -> str:
    from mrdsl.reporting.charts.rendering import svg

    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        charts = mrdsl.solve(mrdsl.load(Path(folder) / spec), limits=mrdsl.Limits(time=SECONDS)).charts
    named = [chart for chart in charts if "ompletion" in chart.title or "obs" in chart.title]
    return svg((named or charts)[0])


def _kept(root: Path, key: str, make: Callable[[], str]) -> str:
    """The text that `make` gives, from the cache if neither the key nor the code has changed."""
    mark = hashlib.sha256(f"{_code(root)}{key}".encode()).hexdigest()
    path = root / ".cache" / "gallery" / mark
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), encoding="utf-8")
    return path.read_text(encoding="utf-8")


@cache
def _code(root: Path) -> str:
    """The fingerprint of the code and of the solver files."""
    found = hashlib.sha256()
    for path in sorted((*(root / "mrdsl").rglob("*.py"), *(root / "solvers").glob("*.toml"))):
        found.update(path.read_bytes())
    return found.hexdigest()


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
