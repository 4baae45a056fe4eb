"""Formats that mrdsl reads or writes for other programs: commands, messages and docs take their lists here.

A new format is one module and one entry. Nothing is imported until an entry is used: ``load`` imports what it needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from mrdsl.core.lazy import named as named_in
from mrdsl.core.reading import problem_of, reason
from mrdsl.exchange.text import EmptyFileError, FormatError

if TYPE_CHECKING:
    from mrdsl.core.answer import Reply
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.core.result import Result
    from mrdsl.exchange.catalogues import Catalogue
    from mrdsl.exchange.cells import RawTable
    from mrdsl.exchange.job_traces import SwimJob, TableJob, TableRun
    from mrdsl.exchange.logs.formats import LogFormat
    from mrdsl.exchange.model_files import Written
    from mrdsl.exchange.spot_history import SpotRecord
    from mrdsl.exchange.targets.deployment import Deployment, Exported, Wishes
    from mrdsl.exchange.workflows import Workflow


T = TypeVar("T")
Mistakes = list["Diagnostic"]


@dataclass(frozen=True)
class Reader(Generic[T]):
    """A format that is read.

    ``reads`` describes the contents; ``sign`` is a regular expression for the beginning of its files, if that
    identifies them. ``load()`` gives the function: of a path and a list for the mistakes with a line; it raises
    FormatError if the file cannot be read at all.
    """

    name: str
    reads: str
    doc: str
    load: Callable[[], Callable[[str, Mistakes], T]]
    endings: tuple[str, ...] = ()
    sign: str = ""

    def read(self, path: str | Path, mistakes: Mistakes) -> T:
        """Return the contents of the file; broken lines are left out and reported in ``mistakes``.

        Raises FormatError if the file is missing, a folder or a pipe, empty, or not of this format.
        """
        refused = problem_of(path)
        if refused:
            raise FormatError(refused, "check the name")
        if not os.path.getsize(path):
            raise EmptyFileError
        try:
            return self.load()(str(path), mistakes)
        except OSError as failure:
            raise FormatError(reason(failure), "check the name") from None


@dataclass(frozen=True)
class LogReader:
    """A kind of log. Logs are recognized by their beginning, not by their names, and read one job at a time.

    ``load()`` gives the functions that recognize and read them.
    """

    name: str
    reads: str
    doc: str
    load: Callable[[], LogFormat]
    endings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writer(Generic[T]):
    """A format that is written. ``writes`` describes the contents, ``needs`` the package that it requires, if any.
    ``without_plan``: a result without a plan is written too.

    ``load()`` gives the function.
    """

    name: str
    writes: str
    doc: str
    load: Callable[[], T]
    endings: tuple[str, ...] = ()
    needs: str = ""
    without_plan: bool = False


@dataclass(frozen=True)
class ModelWriter(Writer[Callable[[IO[str], Any, str], "Written"]]):
    """A format of model files: a function of the stream, the model and its title.

    A ``linear`` one takes the pair of a LinearProgram and its Names, any other a Pyomo model. ``beside`` are the
    extensions of further files next to the model.
    """

    linear: bool = False
    encoding: str = "ascii"
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target(Writer[Callable[["Deployment", "Wishes"], "Exported"]]):
    """A target of exports of a plan: a function of one cluster and the user's options.

    ``wishes`` names the options that it supports; the function raises TargetError if the target cannot take the plan.
    ``disks`` is True if it writes the sizes of disks.
    """

    wishes: tuple[str, ...] = ()
    disks: bool = False


Entry = TypeVar("Entry", bound="Reader[Any] | Writer[Any]")


def names(entries: Iterable[Reader[Any] | LogReader | Writer[Any]]) -> tuple[str, ...]:
    """Return the names of formats, in order."""
    return tuple(entry.name for entry in entries)


def endings(entries: Iterable[Reader[Any] | Writer[Any]]) -> tuple[str, ...]:
    """Return all endings of formats, in order."""
    return tuple(ending for entry in entries for ending in entry.endings)


def named(entries: Iterable[Entry], name: str | None) -> Entry | None:
    """Return the format of that name."""
    return next((entry for entry in entries if entry.name == name), None)


def by_ending(entries: Iterable[Entry], ending: str) -> Entry | None:
    """Return the format whose files end so."""
    return next((entry for entry in entries if ending.lower() in entry.endings), None)


def recognized(entries: Iterable[Reader[T]], text: str) -> Reader[T] | None:
    """Return the format whose files begin like this text."""
    return next((entry for entry in entries if entry.sign and re.match(entry.sign, text)), None)


def listed(entries: Iterable[Reader[Any] | LogReader | Writer[Any]]) -> str:
    """Return the names as messages give them: ``there are: cbc, glpk``."""
    return "there are: " + ", ".join(names(entries))


def _loads(module: str, name: str) -> Callable[[], Any]:
    """Return a function that imports a value of a module of this package."""
    return partial(named_in, f"{__package__}.{module}", name)


def _of_path(module: str, name: str) -> Callable[[], Callable[[str, Mistakes], Any]]:
    """Return the same for a reader that takes a path and raises at the first mistake."""
    load = _loads(module, name)
    return lambda: lambda path, _: load()(path)


def _of_text(module: str, name: str) -> Callable[[], Callable[[str, Mistakes], Any]]:
    """Return the same for a reader that takes the text of a file."""
    load, text = _loads(module, name), _loads("text", "read_text")
    return lambda: lambda path, _: load()(text()(path))


def _cells() -> Callable[[str, Mistakes], RawTable]:
    from mrdsl.exchange.cells import read_raw
    from mrdsl.spec.schema import Source

    return lambda path, _: read_raw(Source("table", path, path), path)


WORKFLOWS: tuple[Reader[Workflow], ...] = (
    Reader(
        "wfcommons",
        "a workflow",
        "WfFormat of wfcommons.org: a recorded execution",
        _of_path("workflows", "read_wfcommons"),
        (".json",),
    ),
    Reader(
        "dot",
        "a workflow",
        "Graphviz' digraphs whose nodes have durations",
        _of_path("workflows", "read_dot"),
        (".dot", ".gv"),
    ),
)
BYTE_TRACES: tuple[Reader[Iterator[SwimJob]], ...] = (
    Reader(
        "swim",
        "jobs as bytes",
        "SWIM's traces: what each job reads, shuffles and writes",
        _loads("job_traces", "read_swim"),
        (".tsv",),
    ),
)
JOB_TABLES: tuple[Reader[Iterator[TableJob]], ...] = (
    Reader(
        "table",
        "jobs as tasks",
        "tasks, times and deadlines below heads with units",
        _loads("job_traces", "read_jobs"),
        (".csv",),
    ),
)
RUN_TABLES: tuple[Reader[Iterator[TableRun]], ...] = (
    Reader(
        "jobs",
        "runs of classes",
        "classes, submit times and deadlines below heads with units",
        _loads("job_traces", "read_runs"),
        (".csv",),
    ),
)
JOBS: tuple[Reader[Iterator[SwimJob]] | Reader[Iterator[TableJob]], ...] = (*BYTE_TRACES, *JOB_TABLES)
SPOT_PRICES: tuple[Reader[tuple[SpotRecord, ...]], ...] = (
    Reader(
        "aws",
        "spot prices",
        "what `aws ec2 describe-spot-price-history` prints",
        _loads("spot_history", "read_spot_history"),
        (".json",),
    ),
)
CATALOGUES: tuple[Reader[Catalogue], ...] = (
    Reader(
        "ec2",
        "VM types",
        "a region's EC2 types: sizes, prices, interruptions a month",
        _loads("catalogues", "read_ec2_catalogue"),
        (".csv",),
    ),
    Reader(
        "instance_types",
        "VM types",
        "what `aws ec2 describe-instance-types` prints",
        _loads("catalogues", "read_instance_types"),
        (".json",),
    ),
)
TABLES_READ: tuple[Reader[RawTable], ...] = (
    Reader("csv", "blocks, demand or arrivals", "cells below a line of heads", _cells, (".csv", ".tsv")),
)
SOLUTIONS: tuple[Reader[Reply], ...] = (
    Reader(
        "cbc", "a solution", "CBC's solution file", _of_text("solutions.cbc", "read"), sign=r"\A.* - objective value"
    ),
    Reader(
        "glpk",
        "a solution",
        "GLPK's `--write`",
        _of_text("solutions.glpk", "read"),
        sign=r"\A(c .*\n|c\n)*s (bas|mip|ipt) ",
    ),
    Reader(
        "highs", "a solution", "HiGHS's raw solution file", _of_text("solutions.highs", "read"), sign=r"\AModel status"
    ),
    Reader(
        "scip",
        "a solution",
        "SCIP's `write solution`",
        _of_text("solutions.scip", "read"),
        sign=r"\A(solution status:|objective value:|no solution available)",
    ),
)
SETTINGS: tuple[Reader[dict[str, str]], ...] = (
    Reader(
        "spark",
        "settings",
        "Spark's spark-defaults.conf",
        _of_text("markup", "read_spark_settings"),
        (".conf",),
    ),
)
LOGS: tuple[LogReader, ...] = (
    LogReader(
        "jhist", "runs of jobs", "job history of Hadoop 2 and 3 (`.jhist`)", _loads("logs.hadoop_history", "FORMAT")
    ),
    LogReader("history", "runs of jobs", "job history of Hadoop 1", _loads("logs.hadoop_text_history", "FORMAT")),
    LogReader("spark", "runs of jobs", "Spark's event logs, rolled ones too", _loads("logs.spark_events", "FORMAT")),
    LogReader("rumen", "runs of jobs", "traces of Rumen", _loads("logs.traces", "RUMEN")),
    LogReader("sls", "runs of jobs", "jobs of YARN's load simulator", _loads("logs.traces", "SLS")),
)
READERS: tuple[Reader[Any], ...] = (
    *(*WORKFLOWS, *JOBS, *RUN_TABLES, *SPOT_PRICES, *CATALOGUES, *TABLES_READ, *SOLUTIONS, *SETTINGS),
)


TableWriter = Callable[[IO[bytes], Sequence[str], Sequence[Mapping[str, Any]]], None]
"""Of a stream, the columns and the rows, which may lack some of the columns."""
MODELS: tuple[ModelWriter, ...] = (
    ModelWriter(
        "lp",
        "a linear model",
        "the LP format, as GLPK, CBC, HiGHS and SCIP read it",
        _loads("model_files", "as_lp"),
        (".lp",),
        linear=True,
    ),
    ModelWriter(
        "mps", "a linear model", "free MPS, always minimized", _loads("model_files", "as_mps"), (".mps",), linear=True
    ),
    ModelWriter(
        "nl",
        "any model",
        "AMPL's nl, names beside it",
        _loads("model_files", "as_nl"),
        (".nl",),
        beside=(".col", ".row"),
    ),
    ModelWriter("gms", "any model", "GAMS", _loads("model_files", "as_gams"), (".gms",), encoding="utf-8"),
)
TABLES: tuple[Writer[TableWriter], ...] = (
    Writer(
        "csv",
        "runs of a sweep",
        "a line of heads, one row per run",
        _loads("result_files", "as_csv"),
        (".csv",),
    ),
    Writer(
        "jsonl",
        "runs of a sweep",
        "one JSON object per run",
        _loads("result_files", "as_json_lines"),
        (".jsonl",),
    ),
    Writer(
        "parquet",
        "runs of a sweep",
        "Parquet, by pyarrow",
        _loads("result_files", "as_parquet"),
        (".parquet",),
        needs="pyarrow",
    ),
)
EMR = Target(
    "emr",
    "machines and classes",
    "Amazon EMR's `RunJobFlow`: master, core and task groups",
    _loads("targets.emr", "emr"),
    (".json",),
    wishes=("master", "fleets", "log-uri", "spot-strategy", "candidates", "capacity-reservation"),
    disks=True,
)
EMR_SERVERLESS = Target(
    "emr-serverless",
    "classes",
    "EMR Serverless applications: workers, capacity",
    _loads("targets.emr_serverless", "emr_serverless"),
    (".json",),
)
DATAPROC = Target(
    "dataproc",
    "machines and classes",
    "Google Dataproc's cluster",
    _loads("targets.dataproc", "dataproc"),
    (".yaml",),
    wishes=("master",),
    disks=True,
)
YARN = Target(
    "yarn",
    "shares of classes",
    "YARN's schedulers, what machines offer and what jobs ask",
    _loads("targets.yarn", "yarn"),
    (".xml",),
)
SPARK = Target("spark", "classes", "Spark's settings, a file per class", _loads("targets.spark", "spark"), (".conf",))
KUBERNETES = Target(
    "kubernetes",
    "classes",
    "the Spark operator's applications, and YuniKorn's queues",
    _loads("targets.kubernetes", "kubernetes"),
    (".yaml",),
)
SLS = Target(
    "sls",
    "machines and classes",
    "machines and jobs of YARN's load simulator",
    _loads("targets.sls", "sls"),
    (".json",),
)
TARGETS: tuple[Target, ...] = (EMR, EMR_SERVERLESS, DATAPROC, YARN, SPARK, KUBERNETES, SLS)
CRON: Writer[Any] = Writer(
    "cron", "starts", "a crontab that rents machines and starts runs", _loads("schedulers", "crontab"), ("",)
)
AIRFLOW: Writer[Any] = Writer(
    "airflow",
    "starts",
    "a DAG of Airflow that rents machines and starts runs",
    _loads("schedulers", "airflow_dag"),
    (".py",),
)
YARN_RESERVATIONS: Writer[Any] = Writer(
    "yarn-reservations",
    "starts",
    "a script that reserves containers of YARN for each run",
    _loads("schedulers", "reservations"),
    (".sh",),
)
STARTS = (CRON, AIRFLOW, YARN_RESERVATIONS)
PlanWriter = Writer[Callable[["Result", Path], bytes]]
"""Of a result with a plan and the file's name; raises NothingToWriteError where the plan has no such form."""
DRAWN = (".svg", ".png", ".html")
"""As ``reporting.report_files.FORMS``, which is loaded where something is drawn."""
GANTT = PlanWriter(
    "gantt",
    "a plan or a run",
    "the plan, or the first run, as a Gantt chart",
    _loads("result_files", "gantt_chart"),
    DRAWN,
    needs="altair",
)
METRICS = PlanWriter(
    "metrics",
    "a plan or a run",
    "metrics in the text format of Prometheus",
    _loads("result_files", "prometheus"),
    (".prom",),
    without_plan=True,
)
OF_A_PLAN: tuple[PlanWriter, ...] = (
    GANTT,
    PlanWriter(
        "graph", "a plan", "the plan's tasks and their order", _loads("result_files", "graph"), DRAWN, needs="altair"
    ),
    METRICS,
)
"""Files that `solve` can write, each by the name of its option; the next constant has those of `simulate`."""
OF_A_RUN: tuple[PlanWriter, ...] = (
    GANTT,
    PlanWriter(
        "trace", "a run", "the first run, event by event, as a table", _loads("result_files", "trace"), (".csv",)
    ),
    METRICS,
)
WRITERS: tuple[Writer[Any], ...] = (*MODELS, *TABLES, *TARGETS, *STARTS, *dict.fromkeys((*OF_A_PLAN, *OF_A_RUN)))
