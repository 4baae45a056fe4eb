"""Classes as a commented spec: what the logs say stands as it is, what they cannot say is a param to fill in."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence

from mrdsl.profiling.classes import Gathered, JobClass, Measured

_WORD = re.compile(r"^[A-Za-z_]\w*$")


def spec_text(gathered: Gathered, family: str = "capacity", title: str = "From logs") -> str:
    """A spec of ``family`` for the classes found. Raises ValueError for a family that logs do not serve."""
    writers = {"capacity": _capacity, "bounds": _bounds}
    if family not in writers:
        raise ValueError(f"no spec of {family} can be made from these logs: choose {' or '.join(writers)}")
    return "\n".join(writers[family](gathered, title)) + "\n"


def _capacity(gathered: Gathered, title: str) -> Iterator[str]:
    yield from _head(gathered)
    yield f"problem capacity {_quoted(title)}"
    yield ""
    yield "param price         = 0.20 USD/h  # a guess: what one VM costs"
    yield "param map_slots     = 2           # a guess: map tasks that one VM hosts"
    yield "param reduce_slots  = 1           # a guess: or reduce tasks"
    yield "param penalty       = 10 USD      # a guess: what it costs to turn a job away"
    names = _names(gathered.classes)
    for each in gathered.classes:
        time = _guessed_deadline(each)
        yield f"param deadline_{names[each.name]} = {time}  # a guess: twice the longest that it took"
    yield ""
    yield "vm machine { on_demand { price = price } }"
    for each in gathered.classes:
        yield ""
        yield from _comments(each)
        yield f"class {_name(each.name)} {{"
        yield from _profile(each)
        yield "  slots { map = map_slots, reduce = reduce_slots }"
        yield f"  jobs     = {_range(each)}"
        yield f"  deadline = deadline_{names[each.name]}"
        yield "  penalty  = penalty"
        yield "}"
    yield ""
    yield "minimize cost"


def _bounds(gathered: Gathered, title: str) -> Iterator[str]:
    yield from _head(gathered)
    yield f"problem bounds {_quoted(title)}"
    yield ""
    most = sum(each.jobs_high for each in gathered.classes)
    maps, reduces = max(gathered.cluster.map_slots, most, 1), max(gathered.cluster.reduce_slots, most, 1)
    yield f"cluster {{ slots {{ map = {maps}, reduce = {reduces} }} }}  # the most tasks that the logs show at once"
    for each in gathered.classes:
        yield ""
        yield from _comments(each)
        yield f"class {_name(each.name)} {{"
        yield from _profile(each)
        yield f"  jobs = {each.jobs_high}"
        yield "}"
    yield ""
    yield "estimate completion"


def _head(gathered: Gathered) -> Iterator[str]:
    cluster = gathered.cluster
    runs = sum(each.runs for each in gathered.classes)
    yield f"# From {runs} jobs in logs over {cluster.hours:.1f} h; {len(gathered.left_out)} more were left out."
    yield (
        f"# The cluster as it was: {cluster.map_slots} map and {cluster.reduce_slots} reduce tasks at most at once, "
        f"used {cluster.map_use:.0%} and {cluster.reduce_use:.0%} of the time."
    )


def _comments(each: JobClass) -> Iterator[str]:
    spread = f"mean map times spread by {each.spread:.0%}" if each.runs > 1 else "one run"
    grew = f"; its input grows by {each.grows:+.0%} over the logs" if each.grows is not None else ""
    yield f"# {each.runs} jobs, {spread}{grew}; {each.failed} attempts failed and {each.killed} were killed"
    for doubt in each.warnings:
        yield f"# beware: {doubt}"


def _profile(each: JobClass) -> Iterator[str]:
    yield f"  map {{ tasks = {each.map_tasks}, {_times(each.map)} }}"
    if each.reduce_tasks and each.reduce is not None and each.typical_shuffle is not None:
        first = each.first_shuffle or each.typical_shuffle
        yield (
            f"  shuffle {{ first_avg = {_seconds(first.average)}, first_max = {_seconds(first.longest)}, "
            f"{_times(each.typical_shuffle)} }}"
        )
        yield f"  reduce {{ tasks = {each.reduce_tasks}, {_times(each.reduce)} }}"


def _times(measured: Measured) -> str:
    return f"avg = {_seconds(measured.average)}, max = {_seconds(measured.longest)}"


def _seconds(value: float) -> str:
    return f"{max(value, 0.001):.3f}".rstrip("0").rstrip(".") + " s"


def _range(each: JobClass) -> str:
    return f"{each.jobs_low}..{each.jobs_high}" if each.jobs_low < each.jobs_high else str(each.jobs_high)


def _guessed_deadline(each: JobClass) -> str:
    longest = max(each.completion, default=0.0) or each.map.longest * 2 + 60.0
    return f"{max(1, math.ceil(2 * longest / 60.0))} min"


def _names(classes: Sequence[JobClass]) -> dict[str, str]:
    """A word for each class that a param can be named after, no two alike."""
    taken: set[str] = set()
    words = {}
    for each in classes:
        stem = re.sub(r"\W+", "_", each.name, flags=re.ASCII).strip("_").lower() or "class"
        word, number = stem, 1
        while word in taken:
            number += 1
            word = f"{stem}_{number}"
        taken.add(word)
        words[each.name] = word
    return words


def _name(name: str) -> str:
    return name if _WORD.match(name) else _quoted(name)


def _quoted(text: str) -> str:
    """A text in quotes, without what no name may hold."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return json.dumps(plain, ensure_ascii=False)
