"""How long data takes to reach the VMs and to move between them. Plain numbers or numpy arrays, in s, B and B/s.

Source: Nabavinejad et al., *MapReduce Service Provisioning for Frequent Big Data Jobs on Clouds*, equations (5), (6)
and RDS in Table 1. One VM has one port; sending and receiving share it, and no VM holds data it needs (worst case).
"""

from __future__ import annotations

from typing import Any


def reduce_share(map_tasks: float, reduce_tasks: float, block: float, intermediate: float) -> float:
    """RDS: the bytes that one reduce task must fetch, 0 where a job has no reduce tasks.

    ``block`` is the input of one map task in B, ``intermediate`` the bytes out of the map phase per byte in (MtoR).
    """
    if reduce_tasks == 0:
        return 0.0
    return map_tasks * block * intermediate / reduce_tasks


def placement_time(map_tasks: Any, block: float, speed: float) -> Any:
    """DPT, eq. (5): seconds until one VM holds the blocks of its ``map_tasks`` (a number or an array)."""
    return map_tasks * (block / speed)


def shuffle_time(
    map_tasks: Any, reduce_tasks: Any, block: float, intermediate: float, fetched: float, speed: float
) -> Any:
    """DSHT, eq. (6): seconds in which one VM sends what its map tasks made and receives what its reduce tasks read.

    ``fetched`` is :func:`reduce_share`. Only for jobs that have reduce tasks: without any, nothing is shuffled,
    although (6) as printed still counts the sending.
    """
    return map_tasks * (block * intermediate / speed) + reduce_tasks * (fetched / speed)
