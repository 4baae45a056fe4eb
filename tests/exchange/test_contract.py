"""What every registered reader and writer keeps, whoever wrote it; and that the registry is the only list.

``python -m tests.exchange.test_contract`` writes the tables of docs/reference/file-formats.md.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from mrdsl import load
from mrdsl.cli import cli
from mrdsl.core.diagnostics import Diagnostic, Severity
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.reading import Log, read_logs
from mrdsl.exchange.model_files import Written
from mrdsl.exchange.registry import (
    JOBS,
    LOGS,
    MODELS,
    OF_A_PLAN,
    OF_A_RUN,
    READERS,
    SOLUTIONS,
    TABLES,
    TABLES_READ,
    TARGETS,
    WORKFLOWS,
    WRITERS,
    LogReader,
    ModelWriter,
    Reader,
    Writer,
    by_ending,
    endings,
    named,
    names,
    recognized,
)
from mrdsl.exchange.text import EmptyFileError, FormatError
from mrdsl.families import SHIPPED, family
from mrdsl.planning.solve_spec import build_model
from mrdsl.solving.arrays import linear_program

ROOT = Path(__file__).resolve().parents[2]
ids = [f"{reader.name} {reader.reads}" for reader in READERS]
every_reader = pytest.mark.parametrize("reader", READERS, ids=ids)
PAGE = ROOT / "docs" / "reference" / "file-formats.md"
HEAD = "| read as | format | endings | what it is |"
ROWS = [{"run": 1, "cost": 0.1, "message": 'a, "b"\n'}, {"run": 2, "seconds": 3.5}]


def mistakes_of(reader: Reader[Any], path: Path) -> list[Diagnostic]:
    """What a reader says of a file that it should refuse; any other exception than its own passes."""
    mistakes: list[Diagnostic] = []
    try:
        found = reader.read(path, mistakes)
        if isinstance(found, Iterator):
            assert list(found) == []
    except FormatError as problem:
        mistakes.append(problem.diagnostic("broken-file", str(path)))
    return mistakes


def bad_files(folder: Path) -> Iterable[tuple[str, bytes]]:
    random = Random(15)
    yield "one zero", b"\0"
    yield "not UTF-8", b"\xff\xfe\xfa\n" * 3
    yield "noise", random.randbytes(4000)
    yield "noise in lines", b"\n".join(random.randbytes(40) for _ in range(50))


@every_reader
def test_a_file_of_nothing_sense_gets_a_diagnostic(reader: Reader[Any], tmp_path: Path) -> None:
    for what, content in bad_files(tmp_path):
        path = tmp_path / what
        path.write_bytes(content)
        mistakes = mistakes_of(reader, path)
        assert mistakes, what
        for mistake in mistakes:
            assert mistake.severity is Severity.ERROR
            assert mistake.message, what
            assert mistake.span is not None, what
            assert mistake.span.file == str(path)
            assert mistake.span.line >= 1


@every_reader
def test_an_empty_file_a_folder_and_no_file_are_refused(reader: Reader[Any], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(EmptyFileError, match="it is empty"):
        reader.read(empty, [])
    with pytest.raises(FormatError, match="it is a folder"):
        reader.read(tmp_path, [])
    with pytest.raises(FormatError, match="there is no such file"):
        reader.read(tmp_path / "none", [])


@pytest.mark.parametrize("reader", WORKFLOWS, ids=names(WORKFLOWS))
def test_a_workflow_one_token_away_from_a_good_one_is_read_or_refused(reader: Reader[Any], tmp_path: Path) -> None:
    good = {
        "wfcommons": '{"workflow": {"tasks": [{"name": "a", "runtime": 1}, {"name": "b", "runtime": 2,'
        ' "parents": ["a"]}]}}',
        "dot": "digraph G { a [duration=1]; b [duration=2]; a -> b }",
    }[reader.name]
    path = tmp_path / "workflow"
    path.write_text(good)
    assert reader.read(path, []).durations == (1.0, 2.0) or reader.read(path, []).durations == [1.0, 2.0]
    tokens = re.findall(r"\w+|\S", good)
    for place, wrong in ((place, wrong) for place in range(len(tokens)) for wrong in ("", "5", "[", "1e999", "null")):
        path.write_text(" ".join([*tokens[:place], wrong, *tokens[place + 1 :]]))
        mistakes_of_workflow = None
        try:
            reader.read(path, [])
        except FormatError as problem:
            mistakes_of_workflow = str(problem)
        assert mistakes_of_workflow != ""


@pytest.mark.parametrize(
    "text",
    [
        '{"workflow": {"tasks": [{"name": "a", "runtime": 1, "parents": 5}]}}',
        '{"workflow": {"tasks": [{"name": "a", "runtime": 1, "children": [[]]}]}}',
        '{"workflow": {"tasks": [{"name": "a", "runtime": 1' + "0" * 400 + "}]}}",
        "[" * 100_000,
    ],
)
def test_wfcommons_refuses_values_of_another_kind(text: str, tmp_path: Path) -> None:
    path = tmp_path / "workflow.json"
    path.write_text(text)
    with pytest.raises(FormatError):
        WORKFLOWS[0].read(path, [])


def test_a_cell_too_long_for_a_table_of_jobs_is_a_mistake_in_its_line(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text('submit [s],map.tasks,map.avg [s]\n1,2,3\n2,"' + "x" * 200_000)
    mistakes: list[Diagnostic] = []
    reader = named(JOBS, "table")
    assert reader is not None
    assert len(list(reader.read(path, mistakes))) == 1
    assert [(one.code, one.span and one.span.line) for one in mistakes] == [("broken-table", 3)]


def model_of(writer: ModelWriter) -> Any:
    spec = load(ROOT / "models" / "capacity" / "reference.mrspec")
    model = build_model(spec, "P2", False)
    return linear_program(model) if writer.linear else model


@pytest.mark.parametrize("writer", MODELS, ids=names(MODELS))
def test_a_model_is_written_twice_alike_and_every_name_stands_in_it(writer: ModelWriter) -> None:
    texts, told = [], Written((), ())
    for _ in range(2):
        stream = io.StringIO()
        told = writer.load()(stream, model_of(writer), "reference")
        texts.append(stream.getvalue())
    assert texts[0] == texts[1]
    beside = "".join(told.beside.values()).split()
    assert set(told.beside) == set(writer.beside)
    stands = set(re.split(r"[^\w.]+", texts[0])) | set(beside)
    assert len(told.columns) > 1
    assert {name for name, _ in (*told.columns, *told.rows)} <= stands


@pytest.mark.parametrize("writer", TABLES, ids=names(TABLES))
def test_a_table_is_written_twice_alike_and_csv_is_read_back(writer: Writer[Any], tmp_path: Path) -> None:
    if writer.needs:
        pytest.importorskip(writer.needs)
    written = []
    for _ in range(2):
        stream = io.BytesIO()
        writer.load()(stream, ["run", "cost", "seconds", "message"], ROWS)
        written.append(stream.getvalue())
    assert written[0] == written[1]
    reader = named(TABLES_READ, writer.name)
    if reader is not None:
        path = tmp_path / f"table{writer.endings[0]}"
        path.write_bytes(written[0])
        table = reader.read(path, [])
        assert table.header == ("run", "cost", "seconds", "message")
        assert table.rows == len(ROWS)


@pytest.mark.parametrize("reader", LOGS, ids=names(LOGS))
def test_a_log_is_told_by_its_beginning_and_what_is_no_log_behind_it_is_told(reader: LogReader, tmp_path: Path) -> None:
    head = reader.load().sample
    assert [one.name for one in LOGS if one.load().recognizes(head)] == [reader.name]
    assert not reader.load().recognizes(Random(15).randbytes(4000))
    for what, content in bad_files(tmp_path):
        path = tmp_path / what
        path.write_bytes(head + content)
        telling = Telling()
        list(read_logs([Log(str(path), (str(path),))], telling))
        mistakes = telling.diagnostics()
        assert mistakes, what
        assert {mistake.span and mistake.span.file for mistake in mistakes} == {str(path)}


def test_names_and_endings_tell_formats_apart() -> None:
    for group in (MODELS, TABLES, WORKFLOWS, JOBS, SOLUTIONS, LOGS):
        assert len(set(names(group))) == len(group)
        assert len(set(endings(group))) == len(endings(group))
    assert len(set(names(TARGETS))) == len(TARGETS)
    assert len({(one.name, one.reads) for one in READERS}) == len(READERS)
    assert by_ending(MODELS, ".LP") is MODELS[0]
    assert named(MODELS, "xls") is None
    assert recognized(SOLUTIONS, "Model status\nOptimal\n") is named(SOLUTIONS, "highs")
    assert recognized(SOLUTIONS, "nothing of the kind") is None


def test_families_name_registered_targets_only() -> None:
    found = [hook() for name in SHIPPED if (hook := (family(name) or pytest.fail(name)).targets) is not None]
    assert {target for targets in found for target in targets} == set(TARGETS)


def test_commands_take_their_lists_from_the_registry() -> None:
    shown = CliRunner().invoke(cli, ["compile", "--help"]).output
    assert "|".join(names(MODELS)) in shown
    assert all(ending in shown for ending in endings(MODELS))
    assert "|".join(names(SOLUTIONS)) in CliRunner().invoke(cli, ["read", "--help"]).output
    assert all(ending in CliRunner().invoke(cli, ["sweep", "--help"]).output for ending in endings(TABLES))
    assert all(name in CliRunner().invoke(cli, ["export", "--help"]).output for name in names(TARGETS))
    for command, writers in (("solve", OF_A_PLAN), ("simulate", OF_A_RUN)):
        output = CliRunner().invoke(cli, [command, "--help"]).output
        assert all(f"--{one.name}" in output for one in writers), command


def as_markdown() -> str:
    """The tables of docs/reference/file-formats.md."""
    parts = [HEAD, "|---|---|---|---|"]
    parts += [f"| {one.reads} | `{one.name}` | {_code(one.endings)} | {one.doc} |" for one in (*READERS, *LOGS)]
    parts += ["", "| written from | format | endings | what it is |", "|---|---|---|---|"]
    parts += [f"| {one.writes} | `{one.name}` | {_code(one.endings)} | {one.doc} |" for one in WRITERS]
    return "\n".join(parts) + "\n"


def _code(endings: Iterable[str]) -> str:
    return ", ".join(f"`{ending}`" for ending in endings) or "any"


def test_the_page_of_formats_lists_the_registry() -> None:
    assert as_markdown() in PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(HEAD)], page[page.rindex("|\n") + 2 :]
    PAGE.write_text(before + as_markdown() + after, encoding="utf-8")
