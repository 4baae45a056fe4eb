"""Every snippet of the documentation runs: specs are checked, Python is executed, `$ mrdsl` lines are called.

The lines below such a line are printed by it, each of them whole; `...` stands for lines that are left out.

A console line that is meant to fail says so: ``$ mrdsl check bad.mrspec  # exit 2``. A ``mrspec``, ``python`` or
``toml`` block whose first line is ``# file: NAME`` is saved under that name for the blocks behind it; so is a ``csv``
block, without that line.
"""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mrdsl.language.loading import load_text
from mrdsl.reporting.diagnostics import as_text
from tests.command_lines import command_lines, run_here, run_python, save_named_specs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]
NAMED = re.compile(r"# file: (\S+)\n")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.exists()], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_snippets_run(page: Path, tmp_path: Path) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    shutil.copytree(ROOT / "extensions", tmp_path / "extensions")
    for language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "mrspec":
            _check_spec(body, tmp_path)
        elif language in ("python", "toml") and (name := NAMED.match(body)):
            (tmp_path / name[1]).write_text(body, encoding="utf-8")
        elif language == "csv" and (name := NAMED.match(body)):
            (tmp_path / name[1]).write_text(body[name.end() :], encoding="utf-8")
        elif language == "python":
            run_python(body, tmp_path)
        elif language == "console":
            for line in command_lines(f"```console\n{body}```\n"):
                ran = run_here(line.words, tmp_path)
                assert ran.exit_code == line.exit_code, f"{line.line}\n{ran.output}"
                shown = {each.rstrip() for each in ran.output.splitlines()}
                for printed in line.printed:
                    assert printed in shown, f"{line.line} does not print\n{printed}\nbut\n{ran.output}"


def test_pictures_are_what_the_commands_draw(tmp_path: Path) -> None:
    """A page that shows a picture has the command that draws it, into a file of that name."""
    (tmp_path / "models").symlink_to(ROOT / "models")
    shown = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        save_named_specs(text, tmp_path)
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", text):
            name = Path(picture).name
            (words,) = {line.words for line in command_lines(text) if ("--gantt", name) in pairwise(line.words)}
            run_here(words, tmp_path)
            assert _told(tmp_path / name) == _told(page.parent / picture)
            shown += 1
    assert shown


def _told(picture: Path) -> list[str]:
    """What a picture says, in order: its texts and the labels of its marks; where they stand is the library's."""
    nodes = ElementTree.parse(picture).iter()
    return [said for node in nodes for said in (node.get("aria-label"), node.text) if said]


def _check_spec(body: str, folder: Path) -> None:
    loaded = load_text(body, folder=folder)
    assert loaded.spec is not None, as_text(loaded.diagnostics, loaded.texts)
    name = NAMED.match(body)
    if name:
        (folder / name[1]).write_text(body, encoding="utf-8")
