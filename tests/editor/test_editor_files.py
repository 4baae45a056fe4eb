"""The editor files are sound: the grammar's expressions compile and colour the reference specs, the extension packs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "grammar" / "vscode"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "mrspec.tmLanguage.json").read_text(encoding="utf-8"))


def rule(name: str) -> re.Pattern[str]:
    return re.compile(GRAMMAR["repository"][name]["match"])


def test_every_include_is_there() -> None:
    for pattern in GRAMMAR["patterns"]:
        assert pattern["include"].removeprefix("#") in GRAMMAR["repository"]


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("item", "  deadline = 15 min", "deadline"),
        ("block", "class sort extends base {", "class"),
        ("block", 'arrivals from swim("jobs.tsv") {', "arrivals"),
        ("quantity", "  price = 0.192 USD/h", "0.192 USD/h"),
        ("quantity", "  share = 85%", "85%"),
        ("call", "  jobs = uniform(1, 3)", "uniform"),
        ("comment", "x = 1  # why", "# why"),
    ],
)
def test_words_get_their_colour(name: str, line: str, found: str) -> None:
    match = rule(name).search(line)
    assert match is not None
    assert match[0].strip() == found


def test_the_files_of_the_extension_are_there() -> None:
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    named = [
        package["main"],
        package["contributes"]["languages"][0]["configuration"],
        package["contributes"]["grammars"][0]["path"],
        *package["files"],
    ]
    assert all((FOLDER / name).exists() for name in named)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_the_extension_packs(tmp_path: Path) -> None:
    done = subprocess.run(
        ["npm", "pack", "--json", "--pack-destination", str(tmp_path)],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    files = {entry["path"] for entry in json.loads(done.stdout)[0]["files"]}
    assert {"extension.js", "package.json", "syntaxes/mrspec.tmLanguage.json"} <= files
