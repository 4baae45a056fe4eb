"""Metrics of a result for Prometheus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.exchange.result_files import prometheus

SPEC = """problem capacity "a \\"b\\" \\\\ c"
vm m5 { on_demand { price = 0.2 USD/h } }
class a { map { tasks = 4, avg = 10 s, max = 10 s }, slots { map = 2, reduce = 1 }
  jobs = 3, deadline = 20 s, penalty = 1 USD }
minimize cost
"""
LINE = re.compile(r'(mrdsl_\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)+)\} (\S+)')


def samples(text: str) -> dict[tuple[str, str], float]:
    """Every sample by its metric and its last label; fails for lines that the format does not have."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            match = LINE.fullmatch(line)
            assert match is not None, line
            found[match[1], match[2].rsplit('="', 1)[1].rstrip('"')] = float(match[3])
    return found


def test_metrics_are_the_numbers_of_the_result() -> None:
    """Two waves of two tasks take 20 s: three jobs have 6 slots on 3 VMs."""
    result = mrdsl.solve(mrdsl.loads(SPEC))
    found = samples(prometheus(result, Path("a.prom")).decode())
    assert found["mrdsl_objective", "USD"] == result.value == found["mrdsl_plan", "cost.total"]
    assert found["mrdsl_plan", "vms.m5.on_demand"] == 3
    assert ("mrdsl_stage_seconds", "solve") in found


def test_a_result_without_a_plan_has_metrics_too(tmp_path: Path) -> None:
    (tmp_path / "a.mrspec").write_text(SPEC + "subject to { cost <= 0.1 USD }\n")
    done = CliRunner().invoke(
        cli, ["solve", str(tmp_path / "a.mrspec"), "--metrics", str(tmp_path / "a.prom")], standalone_mode=False
    )
    assert done.return_value == 1
    found = samples((tmp_path / "a.prom").read_text())
    assert {name: value for (name, _), value in found.items() if name == "mrdsl_has_plan"} == {"mrdsl_has_plan": 0.0}


def test_prometheus_itself_reads_them() -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is not installed")
    result = mrdsl.solve(mrdsl.loads(SPEC))
    families = list(parser.text_string_to_metric_families(prometheus(result, Path("a.prom")).decode()))
    assert {sample.labels["title"] for family in families for sample in family.samples} == {'a "b" \\ c'}
