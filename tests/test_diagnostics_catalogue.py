"""Every diagnostic code is explained, and every explanation's bad spec shows the code while its good one does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mrdsl.language.loading import load_text
from mrdsl.reporting.diagnostics import as_text
from tests.command_lines import command_lines, run_here, save_named_specs
from tests.prepared_pages import prepare
from tests.sources import ROOT, modules

FOLDER = ROOT / "grammar" / "diagnostics"
CODE = re.compile(r"^[a-z]+(-[a-z]+)*$")
MAKERS = {
    "error",
    "one_error",
    "warning",
    "note",
    "impossible",
    "mistake",
    "_report",
    "_report_rows",
    "Diagnostic",
    "warn",
    "fail",
    "Mistake",
}
EXPLANATIONS = sorted(FOLDER.glob("*.md"))


def codes_in_source() -> set[str]:
    return {
        text
        for source in modules().values()
        for each in source.texts
        if each.name in MAKERS
        for text in each.first
        if len(each.first) > 1 or CODE.match(text)
    }


def section(text: str, title: str) -> str:
    match = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def snippets(part: str) -> list[str]:
    return re.findall(r"^```mrspec\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)


def test_every_code_is_explained() -> None:
    missing = codes_in_source() - {path.stem for path in EXPLANATIONS}
    assert not missing, f"write grammar/diagnostics/CODE.md for {sorted(missing)}"


def test_every_explanation_belongs_to_a_code() -> None:
    unknown = {path.stem for path in EXPLANATIONS} - codes_in_source()
    assert not unknown, f"no code emits {sorted(unknown)}"


@pytest.mark.parametrize("path", EXPLANATIONS, ids=lambda path: path.stem)
def test_the_bad_spec_shows_the_code_and_the_good_one_does_not(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.stem}\n")
    bad, good = section(text, "Bad"), section(text, "Good")
    assert bad, "an explanation shows a bad case"
    assert good, "an explanation shows a good case"
    if "```console" in text:
        return
    for body in snippets(bad):
        found = load_text(body, folder=ROOT / "tests" / "language" / "data").diagnostics
        assert path.stem in [d.code for d in found], as_text(found, {})
    for body in snippets(good):
        loaded = load_text(body, folder=ROOT / "tests" / "language" / "data")
        assert path.stem not in [d.code for d in loaded.diagnostics]
        assert loaded.spec is not None, as_text(loaded.diagnostics, {})
    assert snippets(bad)
    assert snippets(good)


WITH_COMMANDS = [path for path in EXPLANATIONS if "```console" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("title", ["Bad", "Good"])
@pytest.mark.parametrize("path", WITH_COMMANDS, ids=lambda path: path.stem)
def test_the_commands_of_an_explanation_show_what_it_says(
    path: Path, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = section(path.read_text(encoding="utf-8"), title)
    lines = list(command_lines(part))
    assert lines, "a case of commands has a line `$ mrdsl ...`"
    prepare(path.stem, tmp_path, monkeypatch, bad=title == "Bad")
    save_named_specs(part, tmp_path)
    shown = ""
    for line in lines:
        ran = run_here(line.words, tmp_path)
        assert ran.exit_code == line.exit_code, f"{line.line}\n{ran.output[-2000:]}"
        shown += ran.output
    assert (f"[{path.stem}]" in shown) == (title == "Bad"), shown[-2000:]
    for printed in re.findall(r"^\S*(?:error|warning|note)\[.{,60}", part, re.MULTILINE):
        assert printed in shown, f"the page prints {printed}"
