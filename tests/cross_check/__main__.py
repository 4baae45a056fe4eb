"""``python -m tests.cross_check --count 10000 --seed 1``: draws specs, solves each in every way, prints disputes."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.cross_check.check import disagreements
from tests.cross_check.texts import DRAWN


def drawn(family: str, seed: int) -> str:
    """The spec of a seed: the same on every machine."""
    return DRAWN[family](Random(f"{family} {seed}"))


def main() -> int:
    """The number of specs whose answers disagree, at most 1 as an exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.cross_check", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many specs, over all families in turn")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--family", choices=sorted(DRAWN), action="append", help="only this one; may be repeated")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--sample", action="store_true", help="each spec in a few of its ways only")
    parser.add_argument("--slow", action="store_true", help="also the methods that search for seconds")
    parser.add_argument("--keep", type=Path, help="write each spec that disagrees into this folder")
    given = parser.parse_args()
    families = given.family or list(DRAWN)
    started, failed, done, took, died = time.monotonic(), *(Counter[str]() for _ in range(4))
    for i in range(given.count):
        if given.seconds is not None and time.monotonic() - started > given.seconds:
            break
        family, seed = families[i % len(families)], given.seed + i // len(families)
        text = drawn(family, seed)
        begun = time.monotonic()
        crashes: list[str] = []
        found = disagreements(text, not given.slow, Random(seed) if given.sample else None, crashes)
        done[family] += 1
        took[family] += time.monotonic() - begun  # type: ignore[assignment]
        died[family] += len(crashes)
        for line in crashes:
            print(f"# {family}, seed {seed}: a solver crashed: {line}", flush=True)
        if found:
            failed[family] += 1
            print(f"# {family}, seed {seed}\n{text}" + "".join(f"#   {line}\n" for line in found), flush=True)
            if given.keep is not None:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{family}-{seed}.mrspec").write_text(text, encoding="utf-8")
    for family in families:
        print(
            f"{family}: {done[family]} specs, {failed[family]} disagree, {died[family]} crashes of solvers, "
            f"{took[family]:.0f} s"
        )
    print(
        f"{sum(done.values())} specs, {sum(failed.values())} whose answers disagree, "
        f"{sum(died.values())} crashes of solvers, {time.monotonic() - started:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
