"""Every format that mrdsl reads or writes for other programs, once: commands, messages and docs take their lists here.

A new format is one module and one entry. Nothing is imported until an entry is used: ``load`` imports what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mrdsl.core.lazy import named as named_in
from mrdsl.exchange.entries import LogReader as LogReader
from mrdsl.exchange.entries import Mistakes as Mistakes
from mrdsl.exchange.entries import ModelWriter as ModelWriter
from mrdsl.exchange.entries import Reader as Reader
from mrdsl.exchange.entries import T as T
from mrdsl.exchange.entries import Target as Target
from mrdsl.exchange.entries import Writer as Writer
from mrdsl.exchange.entries import by_ending as by_ending
from mrdsl.exchange.entries import endings as endings
from mrdsl.exchange.entries import listed as listed
from mrdsl.exchange.entries import named as named
from mrdsl.exchange.entries import names as names
from mrdsl.exchange.entries import recognized as recognized

if TYPE_CHECKING:
    from mrdsl.core.answer import Reply
    from mrdsl.core.result import Result
    from mrdsl.exchange.catalogue import Catalogue
    from mrdsl.exchange.cells import RawTable
    from mrdsl.exchange.fair_scheduler import FairQueue
    from mrdsl.exchange.jobs import TableJob
    from mrdsl.exchange.queue_tree import Queue
    from mrdsl.exchange.spot_history import SpotRecord
    from mrdsl.exchange.swim import SwimJob
    from mrdsl.exchange.targets.deployment import Deployment, Exported, Wishes
    from mrdsl.exchange.workflow import Workflow


def _loads(module: str, name: str) -> Callable[[], Any]:
    """Return a function that imports a value of a module of this package."""
    return partial(named_in, f"{__package__}.{module}", name)


def _of_path(module: str, name: str) -> Callable[[], Callable[[str, Mistakes], Any]]:
    """The same for a reader that takes a path and raises at the first mistake."""
    load = _loads(module, name)
    return lambda: lambda path, _: load()(path)


def _of_text(module: str, name: str) -> Callable[[], Callable[[str, Mistakes], Any]]:
    """The same for a reader that takes the text of a file."""
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
        _of_path("wfcommons", "read"),
        (".json",),
    ),
    Reader(
        "dot", "a workflow", "Graphviz' digraphs whose nodes have durations", _of_path("dot", "read"), (".dot", ".gv")
    ),
)
BYTE_TRACES: tuple[Reader[Iterator[SwimJob]], ...] = (
    Reader(
        "swim",
        "jobs as bytes",
        "SWIM's traces: what each job reads, shuffles and writes",
        _loads("swim", "read_swim"),
        (".tsv",),
    ),
)
JOB_TABLES: tuple[Reader[Iterator[TableJob]], ...] = (
    Reader(
        "table",
        "jobs as tasks",
        "tasks, times and deadlines below heads with units",
        _loads("jobs", "read_jobs"),
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
        _loads("ec2_catalogue", "read_ec2_catalogue"),
        (".csv",),
    ),
    Reader(
        "instance_types",
        "VM types",
        "what `aws ec2 describe-instance-types` prints",
        _loads("instance_types", "read_instance_types"),
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
QUEUES: tuple[Reader[Queue] | Reader[tuple[FairQueue, ...]], ...] = (
    Reader(
        "capacity",
        "queues",
        "YARN's capacity-scheduler.xml",
        _of_text("capacity_scheduler_reader", "read_capacity_scheduler"),
        (".xml",),
    ),
    Reader("fair", "queues", "YARN's fair-scheduler.xml", _of_text("fair_scheduler", "read_fair_scheduler"), (".xml",)),
)
SETTINGS: tuple[Reader[dict[str, str]], ...] = (
    Reader(
        "spark",
        "settings",
        "Spark's spark-defaults.conf",
        _of_text("spark_settings", "read_spark_settings"),
        (".conf",),
    ),
    Reader("hadoop", "settings", "Hadoop's *-site.xml", _of_text("xml_text", "settings_of"), (".xml",)),
)
LOGS: tuple[LogReader, ...] = (
    LogReader(
        "jhist", "runs of jobs", "job history of Hadoop 2 and 3 (`.jhist`)", _loads("logs.hadoop_history", "FORMAT")
    ),
    LogReader("history", "runs of jobs", "job history of Hadoop 1", _loads("logs.hadoop_text_history", "FORMAT")),
    LogReader("spark", "runs of jobs", "Spark's event logs, rolled ones too", _loads("logs.spark_events", "FORMAT")),
    LogReader("rumen", "runs of jobs", "traces of Rumen", _loads("logs.rumen", "FORMAT")),
    LogReader("sls", "runs of jobs", "jobs of YARN's load simulator", _loads("logs.sls", "FORMAT")),
)
READERS: tuple[Reader[Any], ...] = (
    *(*WORKFLOWS, *JOBS, *SPOT_PRICES, *CATALOGUES, *TABLES_READ, *SOLUTIONS, *QUEUES, *SETTINGS),
)


TableWriter = Callable[[IO[bytes], Sequence[str], Sequence[Mapping[str, Any]]], None]
"""Of a stream, the columns and the rows, which may lack some of the columns."""
MODELS: tuple[ModelWriter, ...] = (
    ModelWriter(
        "lp",
        "a linear model",
        "the LP format, as GLPK, CBC, HiGHS and SCIP read it",
        _loads("models.linear", "as_lp"),
        (".lp",),
        linear=True,
    ),
    ModelWriter(
        "mps", "a linear model", "free MPS, always minimized", _loads("models.linear", "as_mps"), (".mps",), linear=True
    ),
    ModelWriter(
        "nl", "any model", "AMPL's nl, names beside it", _loads("models.nl", "as_nl"), (".nl",), beside=(".col", ".row")
    ),
    ModelWriter("gms", "any model", "GAMS", _loads("models.gams", "as_gams"), (".gms",), encoding="utf-8"),
)
TABLES: tuple[Writer[TableWriter], ...] = (
    Writer(
        "csv",
        "runs of a sweep or a study",
        "a line of heads, one row per run",
        _loads("row_files", "as_csv"),
        (".csv",),
    ),
    Writer(
        "jsonl",
        "runs of a sweep or a study",
        "one JSON object per run",
        _loads("row_files", "as_json_lines"),
        (".jsonl",),
    ),
    Writer(
        "parquet",
        "runs of a sweep or a study",
        "Parquet, by pyarrow",
        _loads("row_files", "as_parquet"),
        (".parquet",),
        needs="pyarrow",
    ),
)
TargetWriter = Callable[["Deployment", "Wishes"], "Exported"]
EMR = Target(
    "emr",
    "machines and classes",
    "Amazon EMR's `RunJobFlow`: master, core and task groups",
    _loads("targets.emr", "emr"),
    (".json",),
    wishes=("master", "fleets"),
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
PlanWriter = Writer[Callable[["Result", Path], bytes]]
"""Of a result with a plan and the file's name; raises NothingToWriteError where the plan has no such form."""
DRAWN = (".svg", ".png", ".html")
"""As ``reporting.chart_files.FORMS``, which is loaded where something is drawn."""
GANTT = PlanWriter(
    "gantt",
    "a plan or a run",
    "the plan, or the first run, as a Gantt chart",
    _loads("plan_files", "gantt_chart"),
    DRAWN,
    needs="altair",
)
OF_A_PLAN: tuple[PlanWriter, ...] = (
    GANTT,
    PlanWriter(
        "graph", "a plan", "the plan's tasks and their order", _loads("plan_files", "graph"), DRAWN, needs="altair"
    ),
)
"""What `solve` writes besides the result, each by the option of its name; below, what `simulate` writes."""
OF_A_RUN: tuple[PlanWriter, ...] = (
    GANTT,
    PlanWriter("trace", "a run", "the first run, event by event, as a table", _loads("plan_files", "trace"), (".csv",)),
)
WRITERS: tuple[Writer[Any], ...] = (*MODELS, *TABLES, *TARGETS, *dict.fromkeys((*OF_A_PLAN, *OF_A_RUN)))
