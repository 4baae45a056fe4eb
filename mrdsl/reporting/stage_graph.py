"""The stages of job classes as a graph."""

from __future__ import annotations

from collections.abc import Mapping

from mrdsl.core.charts import Graph, GraphNode
from mrdsl.formulas.stages import longest_path, parents_of
from mrdsl.spec.stages import Stage

DRAWN = 400
"""How many stages are drawn."""


def stage_graph(dags: Mapping[str, tuple[Stage, ...]], title: str) -> Graph | None:
    """Each class's stages: tasks and times, filled by the stage's part of its class's work.

    The critical path of longest tasks has strong borders. None where there are no stages, or more than 400.
    """
    if not 0 < sum(map(len, dags.values())) <= DRAWN:
        return None
    nodes: list[GraphNode] = []
    edges: list[tuple[str, str]] = []
    for name, stages in dags.items():
        parents = parents_of(stages)
        critical = set(longest_path(parents, [stage.max for stage in stages]))
        work = sum(stage.tasks * stage.avg for stage in stages)
        keys = [f"{name}/{number}" for number in range(len(stages))]
        nodes += [
            GraphNode(
                keys[number],
                stage.name if len(dags) == 1 else f"{name}: {stage.name}",
                (f"{stage.tasks} tasks", f"{stage.avg:.4g} s, at most {stage.max:.4g} s"),
                kind=name,
                share=stage.tasks * stage.avg / work,
                marked=number in critical,
            )
            for number, stage in enumerate(stages)
        ]
        edges += [(keys[before], keys[number]) for number, others in enumerate(parents) for before in others]
    return Graph(title, tuple(nodes), tuple(edges))
