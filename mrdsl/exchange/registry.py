"""Every format that mrdsl reads or writes for other programs, once: commands, messages and docs take their lists here.

A new format is one module and one entry. Nothing is imported until an entry is used: ``load`` imports what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

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
    from mrdsl.exchange.logs.formats import LogFormat
    from mrdsl.exchange.models.written import Written
    from mrdsl.exchange.queue_tree import Queue
    from mrdsl.exchange.spot_history import SpotRecord
    from mrdsl.exchange.swim import SwimJob
    from mrdsl.exchange.targets.deployment import Deployment, Exported, Wishes
    from mrdsl.exchange.workflow import Workflow


def _wfcommons() -> Callable[[str, Mistakes], Workflow]:
    from mrdsl.exchange.wfcommons import read

    return lambda path, _: read(path)


def _dot() -> Callable[[str, Mistakes], Workflow]:
    from mrdsl.exchange.dot import read

    return lambda path, _: read(path)


def _swim() -> Callable[[str, Mistakes], Iterator[SwimJob]]:
    from mrdsl.exchange.swim import read_swim

    return read_swim


def _jobs() -> Callable[[str, Mistakes], Iterator[TableJob]]:
    from mrdsl.exchange.jobs import read_jobs

    return read_jobs


def _spot_history() -> Callable[[str, Mistakes], tuple[SpotRecord, ...]]:
    from mrdsl.exchange.spot_history import read_spot_history

    return read_spot_history


def _ec2() -> Callable[[str, Mistakes], Catalogue]:
    from mrdsl.exchange.ec2_catalogue import read_ec2_catalogue

    return read_ec2_catalogue


def _instance_types() -> Callable[[str, Mistakes], Catalogue]:
    from mrdsl.exchange.instance_types import read_instance_types

    return read_instance_types


def _cells() -> Callable[[str, Mistakes], RawTable]:
    from mrdsl.exchange.cells import read_raw
    from mrdsl.spec.schema import Source

    return lambda path, _: read_raw(Source("table", path, path), path)


def _text_reader(read: Callable[[str], T]) -> Callable[[str, Mistakes], T]:
    from mrdsl.exchange.text import read_text

    return lambda path, _: read(read_text(path))


def _cbc() -> Callable[[str, Mistakes], Reply]:
    from mrdsl.exchange.solutions.cbc import read

    return _text_reader(read)


def _glpk() -> Callable[[str, Mistakes], Reply]:
    from mrdsl.exchange.solutions.glpk import read

    return _text_reader(read)


def _highs() -> Callable[[str, Mistakes], Reply]:
    from mrdsl.exchange.solutions.highs import read

    return _text_reader(read)


def _scip() -> Callable[[str, Mistakes], Reply]:
    from mrdsl.exchange.solutions.scip import read

    return _text_reader(read)


def _capacity_scheduler_reader() -> Callable[[str, Mistakes], Queue]:
    from mrdsl.exchange.capacity_scheduler_reader import read_capacity_scheduler

    return _text_reader(read_capacity_scheduler)


def _fair_scheduler_reader() -> Callable[[str, Mistakes], tuple[FairQueue, ...]]:
    from mrdsl.exchange.fair_scheduler import read_fair_scheduler

    return _text_reader(read_fair_scheduler)


def _spark_settings() -> Callable[[str, Mistakes], dict[str, str]]:
    from mrdsl.exchange.spark_settings import read_spark_settings

    return _text_reader(read_spark_settings)


def _hadoop_settings() -> Callable[[str, Mistakes], dict[str, str]]:
    from mrdsl.exchange.xml_text import settings_of

    return _text_reader(settings_of)


def _job_history() -> LogFormat:
    from mrdsl.exchange.logs.hadoop_history import FORMAT

    return FORMAT


def _text_history() -> LogFormat:
    from mrdsl.exchange.logs.hadoop_text_history import FORMAT

    return FORMAT


def _spark_events() -> LogFormat:
    from mrdsl.exchange.logs.spark_events import FORMAT

    return FORMAT


def _rumen() -> LogFormat:
    from mrdsl.exchange.logs.rumen import FORMAT

    return FORMAT


def _sls() -> LogFormat:
    from mrdsl.exchange.logs.sls import FORMAT

    return FORMAT


WORKFLOWS: tuple[Reader[Workflow], ...] = (
    Reader("wfcommons", "a workflow", "WfFormat of wfcommons.org: a recorded execution", _wfcommons, (".json",)),
    Reader("dot", "a workflow", "Graphviz' digraphs whose nodes have durations", _dot, (".dot", ".gv")),
)
BYTE_TRACES: tuple[Reader[Iterator[SwimJob]], ...] = (
    Reader("swim", "jobs as bytes", "SWIM's traces: what each job reads, shuffles and writes", _swim, (".tsv",)),
)
JOB_TABLES: tuple[Reader[Iterator[TableJob]], ...] = (
    Reader("table", "jobs as tasks", "tasks, times and deadlines below heads with units", _jobs, (".csv",)),
)
JOBS: tuple[Reader[Iterator[SwimJob]] | Reader[Iterator[TableJob]], ...] = (*BYTE_TRACES, *JOB_TABLES)
SPOT_PRICES: tuple[Reader[tuple[SpotRecord, ...]], ...] = (
    Reader("aws", "spot prices", "what `aws ec2 describe-spot-price-history` prints", _spot_history, (".json",)),
)
CATALOGUES: tuple[Reader[Catalogue], ...] = (
    Reader("ec2", "VM types", "a region's EC2 types: sizes, prices, interruptions a month", _ec2, (".csv",)),
    Reader("instance_types", "VM types", "what `aws ec2 describe-instance-types` prints", _instance_types, (".json",)),
)
TABLES_READ: tuple[Reader[RawTable], ...] = (
    Reader("csv", "blocks, demand or arrivals", "cells below a line of heads", _cells, (".csv", ".tsv")),
)
SOLUTIONS: tuple[Reader[Reply], ...] = (
    Reader("cbc", "a solution", "CBC's solution file", _cbc, sign=r"\A.* - objective value"),
    Reader("glpk", "a solution", "GLPK's `--write`", _glpk, sign=r"\A(c .*\n|c\n)*s (bas|mip|ipt) "),
    Reader("highs", "a solution", "HiGHS's raw solution file", _highs, sign=r"\AModel status"),
    Reader(
        "scip",
        "a solution",
        "SCIP's `write solution`",
        _scip,
        sign=r"\A(solution status:|objective value:|no solution available)",
    ),
)
QUEUES: tuple[Reader[Queue] | Reader[tuple[FairQueue, ...]], ...] = (
    Reader("capacity", "queues", "YARN's capacity-scheduler.xml", _capacity_scheduler_reader, (".xml",)),
    Reader("fair", "queues", "YARN's fair-scheduler.xml", _fair_scheduler_reader, (".xml",)),
)
SETTINGS: tuple[Reader[dict[str, str]], ...] = (
    Reader("spark", "settings", "Spark's spark-defaults.conf", _spark_settings, (".conf",)),
    Reader("hadoop", "settings", "Hadoop's *-site.xml", _hadoop_settings, (".xml",)),
)
LOGS: tuple[LogReader, ...] = (
    LogReader("jhist", "runs of jobs", "job history of Hadoop 2 and 3 (`.jhist`)", _job_history),
    LogReader("history", "runs of jobs", "job history of Hadoop 1", _text_history),
    LogReader("spark", "runs of jobs", "Spark's event logs, rolled ones too", _spark_events),
    LogReader("rumen", "runs of jobs", "traces of Rumen", _rumen),
    LogReader("sls", "runs of jobs", "jobs of YARN's load simulator", _sls),
)
READERS: tuple[Reader[Any], ...] = (
    *(*WORKFLOWS, *JOBS, *SPOT_PRICES, *CATALOGUES, *TABLES_READ, *SOLUTIONS, *QUEUES, *SETTINGS),
)


def _lp() -> Callable[[IO[str], Any, str], Written]:
    from mrdsl.exchange.models.linear import as_lp

    return as_lp


def _mps() -> Callable[[IO[str], Any, str], Written]:
    from mrdsl.exchange.models.linear import as_mps

    return as_mps


def _nl() -> Callable[[IO[str], Any, str], Written]:
    from mrdsl.exchange.models.nl import as_nl

    return as_nl


def _gams() -> Callable[[IO[str], Any, str], Written]:
    from mrdsl.exchange.models.gams import as_gams

    return as_gams


def _csv_rows() -> TableWriter:
    from mrdsl.exchange.row_files import as_csv

    return as_csv


def _json_lines() -> TableWriter:
    from mrdsl.exchange.row_files import as_json_lines

    return as_json_lines


def _parquet() -> TableWriter:
    from mrdsl.exchange.row_files import as_parquet

    return as_parquet


def _spark() -> TargetWriter:
    from mrdsl.exchange.targets.spark import spark

    return spark


def _emr_serverless() -> TargetWriter:
    from mrdsl.exchange.targets.emr_serverless import emr_serverless

    return emr_serverless


def _kubernetes() -> TargetWriter:
    from mrdsl.exchange.targets.kubernetes import kubernetes

    return kubernetes


def _dataproc() -> TargetWriter:
    from mrdsl.exchange.targets.dataproc import dataproc

    return dataproc


def _sls_files() -> TargetWriter:
    from mrdsl.exchange.targets.sls import sls

    return sls


def _yarn() -> TargetWriter:
    from mrdsl.exchange.targets.yarn import yarn

    return yarn


def _emr() -> TargetWriter:
    from mrdsl.exchange.targets.emr import emr

    return emr


def _gantt() -> Callable[[Result, Path], bytes]:
    from mrdsl.exchange.plan_files import gantt_chart

    return gantt_chart


def _graph() -> Callable[[Result, Path], bytes]:
    from mrdsl.exchange.plan_files import graph

    return graph


def _trace() -> Callable[[Result, Path], bytes]:
    from mrdsl.exchange.plan_files import trace

    return trace


TableWriter = Callable[[IO[bytes], Sequence[str], Sequence[Mapping[str, Any]]], None]
"""Of a stream, the columns and the rows, which may lack some of the columns."""
MODELS: tuple[ModelWriter, ...] = (
    ModelWriter(
        "lp", "a linear model", "the LP format, as GLPK, CBC, HiGHS and SCIP read it", _lp, (".lp",), linear=True
    ),
    ModelWriter("mps", "a linear model", "free MPS, always minimized", _mps, (".mps",), linear=True),
    ModelWriter("nl", "any model", "AMPL's nl, names beside it", _nl, (".nl",), beside=(".col", ".row")),
    ModelWriter("gms", "any model", "GAMS", _gams, (".gms",), encoding="utf-8"),
)
TABLES: tuple[Writer[TableWriter], ...] = (
    Writer("csv", "runs of a sweep or a study", "a line of heads, one row per run", _csv_rows, (".csv",)),
    Writer("jsonl", "runs of a sweep or a study", "one JSON object per run", _json_lines, (".jsonl",)),
    Writer("parquet", "runs of a sweep or a study", "Parquet, by pyarrow", _parquet, (".parquet",), needs="pyarrow"),
)
TargetWriter = Callable[["Deployment", "Wishes"], "Exported"]
EMR = Target(
    "emr",
    "machines and classes",
    "Amazon EMR's `RunJobFlow`: master, core and task groups",
    _emr,
    (".json",),
    wishes=("master", "fleets"),
)
EMR_SERVERLESS = Target(
    "emr-serverless", "classes", "EMR Serverless applications: workers, capacity", _emr_serverless, (".json",)
)
DATAPROC = Target(
    "dataproc", "machines and classes", "Google Dataproc's cluster", _dataproc, (".yaml",), wishes=("master",)
)
YARN = Target("yarn", "shares of classes", "YARN's schedulers, what machines offer and what jobs ask", _yarn, (".xml",))
SPARK = Target("spark", "classes", "Spark's settings, a file per class", _spark, (".conf",))
KUBERNETES = Target(
    "kubernetes", "classes", "the Spark operator's applications, and YuniKorn's queues", _kubernetes, (".yaml",)
)
SLS = Target("sls", "machines and classes", "machines and jobs of YARN's load simulator", _sls_files, (".json",))
TARGETS: tuple[Target, ...] = (EMR, EMR_SERVERLESS, DATAPROC, YARN, SPARK, KUBERNETES, SLS)
PlanWriter = Writer[Callable[["Result", Path], bytes]]
"""Of a result with a plan and the file's name; raises NothingToWriteError where the plan has no such form."""
DRAWN = (".svg", ".png", ".html")
"""As ``reporting.chart_files.FORMS``, which is loaded where something is drawn."""
GANTT = PlanWriter(
    "gantt", "a plan or a run", "the plan, or the first run, as a Gantt chart", _gantt, DRAWN, needs="altair"
)
OF_A_PLAN: tuple[PlanWriter, ...] = (
    GANTT,
    PlanWriter("graph", "a plan", "the plan's tasks and their order", _graph, DRAWN, needs="altair"),
)
"""What `solve` writes besides the result, each by the option of its name; below, what `simulate` writes."""
OF_A_RUN: tuple[PlanWriter, ...] = (
    GANTT,
    PlanWriter("trace", "a run", "the first run, event by event, as a table", _trace, (".csv",)),
)
WRITERS: tuple[Writer[Any], ...] = (*MODELS, *TABLES, *TARGETS, *dict.fromkeys((*OF_A_PLAN, *OF_A_RUN)))
