"""Standard output and errors in encodings that lack characters: nothing is lost, and nothing fails."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.cli.outputs import escaped_for, take_every_character

TITLE = "夜間 «é» 😀"
SPEC = f"""problem capacity "{TITLE}"
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
class a {{ coefficients {{ A = 5400 s, B = 1250 s, C = 95 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = 2..2, deadline = 10 min, penalty = 20 USD }}
minimize cost
"""
ENCODINGS = ["latin-1", "cp1252", "ascii", "cp437", "shift_jis"]
COMMANDS = {
    "solve": ["solve", "{spec}"],
    "json": ["solve", "{spec}", "--json"],
    "saved": ["solve", "{spec}", "-o", "-"],
    "unformatted": ["fmt", "--diff", "{spec}"],
    "spec": ["show", "{spec}"],
    "tree": ["show", "{spec}", "--stage", "tree"],
    "why": ["why", "{spec}"],
    "simulate": ["simulate", "{spec}"],
    "check": ["check", "{spec}"],
    "missing": ["check", "{folder}/夜.mrspec"],
    "missing in JSON": ["check", "{folder}/夜.mrspec", "--format", "json"],
    "undecodable": ["check", "{folder}/\udcff.mrspec"],
    "profile": ["profile", "{logs}"],
    "profiled": ["profile", "{logs}", "-o", "-"],
}
FILES = ("unformatted", "profiled")
"""Commands that print the text of a file, which is UTF-8."""
_ESCAPE = re.compile(r"((?:\\u[0-9a-f]{4})+)")


def unescaped(text: str) -> str:
    """The text with every escape as the characters that it stands for."""

    def characters(match: re.Match[str]) -> str:
        units = bytes.fromhex(match[1].replace("\\u", ""))
        return units.decode("utf-16-be", "surrogatepass")

    return _ESCAPE.sub(characters, text)


def printed(words: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bytes, bytes]:
    out, err = io.BytesIO(), io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding=encoding))
    monkeypatch.setattr(sys, "argv", ["mrdsl", *words])
    code = run(cli)
    sys.stdout.flush()
    sys.stderr.flush()
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def words(tmp_path: Path) -> dict[str, str]:
    spec = tmp_path / "spec.mrspec"
    spec.write_text(SPEC, encoding="utf-8")
    logs = tmp_path / "夜"
    logs.mkdir()
    for source in sorted(Path("models/logs").iterdir())[:2]:
        (logs / source.name).write_bytes(source.read_bytes().replace(b"etl", "夜".encode()))
    return {"spec": str(spec), "folder": str(tmp_path), "logs": str(logs)}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_encoding_prints_the_same(command: str, words: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    given_words = [word.format(**words) for word in COMMANDS[command]]
    code, out, err = printed(given_words, "utf-8", monkeypatch)
    assert b"internal" not in err
    for encoding in ENCODINGS:
        other = printed(given_words, encoding, monkeypatch)
        assert other[0] == code, encoding
        stdout = "utf-8" if command in FILES or encoding == "ascii" else encoding
        stderr = "utf-8" if encoding == "ascii" else encoding
        for text, same in ((other[1].decode(stdout), out), (other[2].decode(stderr), err)):
            assert without_times(unescaped(text)) == without_times(unescaped(same.decode()))


def without_times(text: str) -> str:
    """The text without what differs from run to run: the seconds of the stages."""
    return re.sub(r'"(?:parse|compile|solve|verify|validate)": [\d.e-]+', "", text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_stays_json(encoding: str, words: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = printed(["solve", words["spec"], "--json"], encoding, monkeypatch)
    document = json.loads(out.decode("utf-8" if encoding == "ascii" else encoding))
    assert (code, document["title"]) == (0, TITLE)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_formatted_spec_is_utf_8(encoding: str, words: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SPEC.encode()), encoding=encoding))
    code, out, _ = printed(["fmt", "-"], encoding, monkeypatch)
    assert (code, f'problem capacity "{TITLE}"' in out.decode()) == (0, True)


@example(text="\u00a5 \u203e", encoding="shift_jis")
@given(text=st.text(st.characters(min_codepoint=1, exclude_characters="\r\n\\")), encoding=st.sampled_from(ENCODINGS))
def test_any_text_comes_back(text: str, encoding: str) -> None:
    """Lone surrogates too, in text and in JSON."""
    for content in (text, json.dumps(text, ensure_ascii=False)):
        collected = io.BytesIO()
        before = sys.stdout
        stream = sys.stdout = io.TextIOWrapper(collected, encoding=encoding)
        try:
            take_every_character()
            stream.write(escaped_for(content, encoding))
            stream.flush()
        finally:
            sys.stdout = before
        shown = collected.getvalue().decode(encoding)
        if content is text:
            assert unescaped(shown).encode("utf-16-be", "surrogatepass") == text.encode("utf-16-be", "surrogatepass")
        else:
            back = json.loads(shown)
            assert back.encode("utf-16-be", "surrogatepass") == text.encode("utf-16-be", "surrogatepass")
