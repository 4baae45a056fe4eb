"""What came from elsewhere is shown without a control character: on terminals, in pictures, tables and JSON."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mrdsl
from mrdsl.core.charts import BarChart
from mrdsl.core.csv_text import csv_text
from mrdsl.core.diagnostics import MrdslError, Related, Span, error, is_printable, json_printable, printable
from mrdsl.core.result import Table
from mrdsl.core.tables import table_text
from mrdsl.language.loading import load_text
from mrdsl.reporting.charts import svg
from mrdsl.reporting.diagnostics import as_github, as_json, as_text
from tests.command_lines import run_python

ROOT = Path(__file__).resolve().parents[2]
BELL, COPY, BACKWARDS, C1, DEL = "\x07", "\x1b]52;c;YQ==\x07", "\u202e", "\x9b31m", "\x7f"
HOSTILE = (BELL, COPY, BACKWARDS, C1, DEL, "\u2066", "\x00", "\ufffe", "\r")
CLASS = """{
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }, jobs = 4..6, deadline = 10 min, penalty = 20 USD
}
"""
SPEC = 'problem capacity "%s"\nvm m5 { on_demand { price = 0.192 USD/h } }\nminimize cost\nclass "%s" ' + CLASS


@pytest.mark.parametrize("text", HOSTILE)
def test_names_and_titles_hold_no_control_characters(text: str) -> None:
    for title, name in (("t" + text, "a"), ("t", "a" + text)):
        loaded = load_text(SPEC % (title, name))
        assert "control-character" in {d.code for d in loaded.diagnostics} or text == "\r"
        assert loaded.spec is None
        for line in as_text(loaded.diagnostics, loaded.texts).split("\n"):
            assert is_printable(line)


def test_names_of_a_table_hold_none(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("name,deadline [s]\na\x1b[2J,600\n")
    text = SPEC.replace('class "%s" ' + CLASS, 'classes from "c.csv" ' + CLASS.replace("deadline = 10 min, ", "")) % "t"
    loaded = load_text(text, folder=tmp_path)
    assert "control-character" in {d.code for d in loaded.diagnostics}


def test_letters_of_all_scripts_are_no_control_characters() -> None:
    loaded = load_text(SPEC % ("נתונים und größer 数据 \U0001f600", "größe-数"))
    assert loaded.spec is not None
    assert printable("größe-数 \U0001f600 é") == "größe-数 \U0001f600 é"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_diagnostic_shows_escapes(text: str) -> None:
    span = Span(f"f{text}", 1, 3, 1, 9)
    told = error("internal", f"m{text}", span, f"h{text}", Related(f"r{text}", span))
    shown = as_text([told], {f"f{text}": f"a {text * 3} = b\n"})
    assert all(is_printable(line) for line in shown.split("\n"))
    assert all(is_printable(line) for line in as_github([told]).split("\n"))
    assert all(is_printable(line) for line in as_json([told]).split("\n"))
    assert json.loads(as_json([told]))["diagnostics"][0]["message"] == f"m{text}"


def test_the_caret_stands_below_what_is_shown() -> None:
    shown = as_text([error("internal", "m", Span("f", 1, 4, 1, 5))], {"f": "a\x1b b c\n"}).split("\n")
    assert shown[1][shown[2].index("^")] == "b"


@pytest.mark.parametrize("text", HOSTILE)
def test_tables_pictures_and_json_show_escapes(text: str) -> None:
    table = Table(f"t{text}", (f"h{text}",), [(f"c{text}",)])
    assert all(is_printable(line) for line in table_text(table).split("\n"))
    name = f"a{text}<&"
    picture = svg(BarChart(f"t{text}", (name,), {name: [1.0], "q": [2.0]}, name, name))
    assert is_printable(picture.replace("\n", ""))
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert json.loads(json_printable(json.dumps({text: text}, ensure_ascii=False))) == {text: text}


def test_no_cell_of_a_csv_file_is_a_formula() -> None:
    rows = [("=HYPERLINK(1)", "+1", "-1.5", "@x", "-x", "\t=1", 2.5, None, "a=b", "\x1b[2J")]
    (head, cells) = csv.reader(io.StringIO(csv_text(("=h",) + ("c",) * 9, rows)))
    assert head[0] == "'=h"
    assert cells == ["'=HYPERLINK(1)", "+1", "-1.5", "'@x", "'-x", "'\\t=1", "2.5", "", "a=b", "\\x1b[2J"]


def test_csv_is_written_in_one_place() -> None:
    sources = (ROOT / "mrdsl").rglob("*.py")
    assert [path.name for path in sources if "csv.writer(" in path.read_text(encoding="utf-8")] == ["csv_text.py"]


def test_a_zipped_package_reads_its_grammar(tmp_path: Path) -> None:
    packed = tmp_path / "mrdsl.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted((ROOT / "mrdsl").rglob("*.py")):
            archive.write(path, path.relative_to(ROOT).as_posix())
        for folder in ("grammar", "solvers"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.is_file():
                    archive.write(path, f"mrdsl/data/{path.relative_to(ROOT).as_posix()}")
    spec = ROOT / "models" / "capacity" / "quickstart.mrspec"
    script = (
        f"import sys; sys.path.insert(0, {str(packed)!r}); import mrdsl; assert 'mrdsl.zip' in mrdsl.__file__; "
        f"from mrdsl.solving import registry; assert 'highs' in registry.names(); "
        f"assert not mrdsl.check({str(spec)!r})"
    )
    run_python(script, tmp_path)


def test_an_exception_has_place_and_hint() -> None:
    with pytest.raises(MrdslError) as caught:
        mrdsl.loads('problem capacity "q"\nvm m5 { on_demand { price = 1 USD/hh } }\n')
    text = str(caught.value)
    assert "<text>:2:" in text
    assert all(each.message in text and each.hint in text for each in caught.value.diagnostics)
