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
    ]
    assert all((FOLDER / name).exists() for name in named)


def packed(folder: Path) -> list[Path]:
    """What ``vsce package`` packs of a folder without ``.vscodeignore``: the files that ``files`` names and no others,
    the installed dependencies neither; without ``files`` everything."""
    assert not (folder / ".vscodeignore").exists()
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    every = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if "files" not in package:
        return every
    named = [folder / name for name in (*package["files"], "package.json")]
    return [path for path in every if any(path.is_relative_to(one) for one in named)]


LOADED = """
const library = require("module"), load = library._load;
const settings = { get: (name, usual) => usual };
const vscode = { workspace: { getConfiguration: () => settings } };
library._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require(process.argv[1]);
Promise.resolve(extension.activate()).then((started) => console.log(JSON.stringify(started)));
"""
CLIENT = """
class LanguageClient {
  constructor(id, name, server, options) { this.said = { server, options }; }
  start() { return Promise.resolve(this.said); }
}
module.exports = { LanguageClient, TransportKind: { stdio: 0 } };
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_what_is_packed_starts(tmp_path: Path) -> None:
    """In an editor that is played here, with a client library that is; packed is what stands in the folder then."""
    shutil.copytree(FOLDER, tmp_path / "source", ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    client = tmp_path / "source" / "node_modules" / "vscode-languageclient"
    client.mkdir(parents=True)
    (client / "node.js").write_text(CLIENT, encoding="utf-8")
    for path in packed(tmp_path / "source"):
        target = tmp_path / "extension" / path.relative_to(tmp_path / "source")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    done = subprocess.run(
        ["node", "-e", LOADED, str(tmp_path / "extension" / "extension.js")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    started = json.loads(done.stdout)
    assert started["server"] == {"command": "mrdsl", "args": ["lsp"], "transport": 0}
    assert started["options"] == {"documentSelector": [{"language": "mrspec"}]}


def test_the_client_library_is_installed_for_packing() -> None:
    """As the README says: what package.json depends on is what the lock file installs, for running."""
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))
    assert lock["packages"][""]["dependencies"] == package["dependencies"]
    for name in package["dependencies"]:
        assert "dev" not in lock["packages"][f"node_modules/{name}"]
    command = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert "`npm ci && npx @vscode/vsce package" in command
    assert "--no-dependencies" not in command
