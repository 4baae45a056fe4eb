"""Every snippet of the documentation runs: specs are checked, Python is executed, `$ mrdsl` lines are called.

The lines below such a line are printed by it, each of them whole; `...` stands for lines that are left out.

A console line that is meant to fail says so: ``$ mrdsl check bad.mrspec  # exit 2``. A ``mrspec``, ``python`` or
``toml`` block whose first line is ``# file: NAME`` is saved under that name for the blocks behind it.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mrdsl.language.loading import load_text
from mrdsl.reporting.diagnostics import as_text
from tests.command_lines import command_lines, named_specs, run_here, run_python

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]
NAMED = re.compile(r"# file: (\S+)\n")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.stem)
def test_snippets_run(page: Path, tmp_path: Path) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    prepare_page(page.stem, page.read_text(encoding="utf-8"), tmp_path)
    for language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "mrspec":
            _check_spec(body, tmp_path)
        elif language in ("python", "toml") and (name := NAMED.match(body)):
            (tmp_path / name[1]).write_text(body, encoding="utf-8")
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
    (tmp_path / "models").symlink_to(ROOT / "models")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = [line for line in command_lines(text) if "--gantt" in line.words]
    assert drawn
    for line in drawn:
        run_here(line.words, tmp_path)
        name = line.words[line.words.index("--gantt") + 1]
        assert f"(docs/{name})" in text
        assert _told(tmp_path / name) == _told(ROOT / "docs" / name)


def _told(picture: Path) -> list[str]:
    """What a picture says, in order: its texts and the labels of its marks; where they stand is the library's."""
    nodes = ElementTree.parse(picture).iter()
    return [said for node in nodes for said in (node.get("aria-label"), node.text) if said]


def prepare_page(stem: str, text: str, folder: Path) -> None:
    """What a page names in words: the README's spec with a comparison that no plan keeps."""
    if stem == "README":
        for name, body in named_specs(text):
            if name == "nightly.mrspec":
                (folder / "tight.mrspec").write_text(f"{body}subject to {{ cost <= 25 USD }}\n", encoding="utf-8")


def _check_spec(body: str, folder: Path) -> None:
    loaded = load_text(body, folder=folder)
    assert loaded.spec is not None, as_text(loaded.diagnostics, loaded.texts)
    name = NAMED.match(body)
    if name:
        (folder / name[1]).write_text(body, encoding="utf-8")
