"""Whatever the bytes: diagnostics or a spec, never a traceback (principle 5)."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.core.diagnostics import has_errors
from mrdsl.language.loading import load_file, load_text
from mrdsl.reporting.diagnostics import as_github, as_json, as_sarif, as_text

ROOT = Path(__file__).resolve().parents[2]
MODELS = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "models").glob("*/reference.mrspec"))}
PIECES = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "=",
    ",",
    "\n",
    "..",
    ".",
    '"',
    "#",
    "%",
    "-",
    "/",
    "*",
    "1e999",
    "0",
    " min ",
    "é",
    "\0",
    " from ",
    " extends ",
    "[1..3]",
    "uniform(1, 2)",
    "9" * 400,
]


def understood(text: str, folder: Path) -> None:
    loaded = load_text(text, folder=folder)
    assert loaded.spec is not None or has_errors(loaded.diagnostics)
    assert as_text(loaded.diagnostics, loaded.texts) or not loaded.diagnostics
    as_json(loaded.diagnostics)
    as_github(loaded.diagnostics)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.data())
def test_mutated_specs(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(MODELS)))
    text = MODELS[path]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.sampled_from([0, 0, 1, 2, 10]))
        text = text[:at] + data.draw(st.sampled_from([*PIECES, ""])) + text[at + cut :]
    understood(text, path.parent)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    understood(text, ROOT)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(["class", "a", " ", *PIECES]), max_size=60).map("".join))
def test_any_sequence_of_tokens(text: str) -> None:
    understood("problem capacity\n" + text, ROOT)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    path = ROOT / ".pytest_cache" / "any.mrspec"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    loaded = load_file(path)
    assert loaded.spec is not None or has_errors(loaded.diagnostics)


def test_a_sarif_log_has_each_mistake_and_its_place() -> None:
    text = 'problem capacity "q"\nvm m5 { price = 1 parsec }\nclass a { deadline = 5 mm }\n'
    found = load_text(text, name="my specs/a.mrspec").diagnostics
    log = json.loads(as_sarif(found))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [result["ruleId"] for result in run["results"]] == [each.code for each in found]
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    located = [result["locations"][0]["physicalLocation"] for result in run["results"] if "locations" in result]
    assert located
    assert {place["artifactLocation"]["uri"] for place in located} == {"my%20specs/a.mrspec"}
    assert all(place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1 for place in located)
