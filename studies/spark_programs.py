"""Spark programs whose tasks sleep, each for a given time: run as `python spark_programs.py NAME SLOTS SCALE LOGS`.

It needs PySpark, and nothing of mrdsl, so that any interpreter can run it. The first row of a partition sleeps; the
times are lognormal, seeded by the program and the stage, and the same on every number of slots.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

ROWS = 40
"""Rows of a partition, so that none is empty after a shuffle."""


def sleeping(frame: Any, what: str, tasks: int, mean: float, spread: float = 0.5, slow: float = 1.0) -> Any:
    """Return a frame whose partitions each sleep; ``slow`` is a multiple for the third one."""
    draws = random.Random(what)
    times = [mean * draws.lognormvariate(-spread * spread / 2.0, spread) for _ in range(tasks)]
    if tasks > 2:
        times[2] *= slow
    listed = ", ".join(f"{max(1, round(1000 * time))}L" for time in times)
    first = "(monotonically_increasing_id() % 8589934592) = 0"
    sleep = f"reflect('java.lang.Thread', 'sleep', element_at(array({listed}), 1 + spark_partition_id()))"
    return frame.selectExpr("id", f"CASE WHEN {first} THEN {sleep} ELSE 'null' END AS slept")


def scan(spark: Any, what: str, tasks: int, mean: float, slow: float = 1.0) -> Any:
    """Return a source of that many tasks."""
    return sleeping(spark.range(0, ROWS * tasks, 1, tasks), what, tasks, mean, slow=slow)


def then(frame: Any, what: str, tasks: int, mean: float) -> Any:
    """Return the next stage of that many tasks."""
    return sleeping(frame.filter("length(slept) > 0").repartition(tasks), what, tasks, mean)


def run(frame: Any) -> None:
    """Compute a frame and drop its rows."""
    frame.filter("length(slept) > 0").write.format("noop").mode("overwrite").save()


def etl(spark: Any, scale: float) -> None:
    """Two scans, a sort-merge join, and a last stage."""
    spark.conf.set("spark.sql.shuffle.partitions", "40")
    one = scan(spark, "etl-a", 64, 0.5 * scale).withColumnRenamed("slept", "a")
    other = scan(spark, "etl-b", 16, 0.4 * scale).withColumnRenamed("slept", "b")
    joined = one.filter("length(a) > 0").join(other.filter("length(b) > 0"), "id", "left")
    run(then(sleeping(joined, "etl-join", 40, 0.4 * scale), "etl-last", 12, 0.4 * scale))


def branches(spark: Any, scale: float) -> None:
    """Two jobs from two threads."""

    def one() -> None:
        run(then(scan(spark, "left", 48, 0.5 * scale), "left-sum", 8, 0.3 * scale))

    def other() -> None:
        run(then(scan(spark, "right", 16, 0.6 * scale), "right-sum", 8, 0.3 * scale))

    threads = [threading.Thread(target=each) for each in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def wide(spark: Any, scale: float) -> None:
    """Three stages of few long tasks."""
    run(then(then(scan(spark, "wide-a", 6, 2.0 * scale), "wide-b", 9, 2.0 * scale), "wide-c", 12, 2.0 * scale))


def iterative(spark: Any, scale: float) -> None:
    """Four passes over cached data, one after the other."""
    cached = scan(spark, "points", 32, 0.4 * scale).filter("length(slept) > 0").cache()
    for step in range(4):
        run(then(sleeping(cached, f"step-{step}", 32, 0.3 * scale), f"means-{step}", 8, 0.2 * scale))


def skew(spark: Any, scale: float) -> None:
    """A join of which one task takes seven times as long."""
    spark.conf.set("spark.sql.shuffle.partitions", "32")
    one = scan(spark, "skew-a", 48, 0.4 * scale).withColumnRenamed("slept", "a").filter("length(a) > 0")
    other = scan(spark, "skew-b", 4, 0.2 * scale).withColumnRenamed("slept", "b").filter("length(b) > 0")
    run(sleeping(one.join(other, "id", "left"), "skew-join", 32, 0.4 * scale, slow=7.0))


def aqe(spark: Any, scale: float) -> None:
    """Adaptive execution, which merges small partitions."""
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    spark.conf.set("spark.sql.shuffle.partitions", "64")
    spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "2KB")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.parallelismFirst", "false")
    frame = scan(spark, "aqe-a", 40, 0.4 * scale).filter("length(slept) > 0")
    run(sleeping(frame.groupBy("id").count(), "aqe-b", 64, 0.4 * scale))


PROGRAMS: dict[str, Callable[[Any, float], None]] = {
    each.__name__: each for each in (etl, branches, wide, iterative, skew, aqe)
}


def main(name: str, slots: str, scale: str, logs: str) -> None:
    """Run a program on local slots and write its event log."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs,
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.driver.memory": "700m",
        "spark.driver.host": "localhost",
    }
    builder = SparkSession.builder.master(f"local[{slots}]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    PROGRAMS[name](spark, float(scale))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
