"""Solvers that are programs: a model file in, a solution file out."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO, TextIO

import numpy as np

from mrdsl.core.answer import Reply, reply_mistake
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.linear_program import Array, LinearProgram
from mrdsl.core.result import Limits, Termination
from mrdsl.core.watching import DEBUG, GLANCE, is_stoppable, is_stopped, is_wanted, log
from mrdsl.exchange.model_files import plain_names, relations, write_lp, write_mps
from mrdsl.exchange.text import FormatError
from mrdsl.solving.declaration import Command, SolverFile
from mrdsl.solving.pipelines import loaded, unloaded
from mrdsl.solving.processes import end, is_kept, signals_deferred, start
from mrdsl.solving.registry import locate
from mrdsl.solving.worker import GRACE

KEPT_AT_ENDS = 4 * 1024 * 1024
"""Bytes of the output of a program that are kept from its beginning and from its end."""
MOST_OF_A_LINE = 65_536
_UNREADABLE = (ValueError, IndexError, KeyError)
"""Exceptions of a reader for a text that is not a solution file."""


def solve_with_command(solver: SolverFile, program: LinearProgram, limits: Limits, point: Array | None = None) -> Reply:
    """Write the program (minimized), run the solver in its own process group, and read its solution."""
    command = solver.command
    assert command is not None
    with scratch_folder() as folder:
        columns = plain_names("x", len(program.costs))
        rows = plain_names("c", len(program.row_lower))
        model, solution = Path(folder, f"model.{command.writes}"), Path(folder, "model.sol")
        with model.open("w", encoding="ascii") as stream:
            in_file = _write(stream, command, program, columns, rows)
        arguments = [*_limit_arguments(solver, limits), *_start_arguments(command, point, columns, folder)]
        line = _command_line(command, str(model), str(solution), arguments)
        code, printed, ended = _run(command, line, str(folder), limits.time)
        return _reply(solver, code, printed, ended, solution, columns, in_file)


def _write(
    stream: TextIO, command: Command, program: LinearProgram, columns: Sequence[str], rows: Sequence[str]
) -> list[tuple[str, ...]]:
    """Write the model file in the format that the program reads; the names in it of each row."""
    if command.writes == "mps":
        write_mps(stream, program, columns, rows)
        return [(row,) for row in rows]
    sides = zip(rows, program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    names = [
        tuple(row + mark for mark, _ in zip(("", "u"), relations(low, high), strict=False)) for row, low, high in sides
    ]
    write_lp(stream, program, columns, names)
    return names


def _command_line(command: Command, model: str, solution: str, limits: Sequence[str]) -> list[str]:
    line: list[str] = []
    for argument in command.arguments:
        if argument == "{limits}":
            line.extend(limits)
        else:
            line.append(argument.replace("{model}", model).replace("{solution}", solution))
    return line if "{limits}" in command.arguments else [*line, *limits]


def _limit_arguments(solver: SolverFile, limits: Limits) -> list[str]:
    wanted = {
        "time": limits.time,
        "gap": limits.gap,
        "nodes": limits.nodes,
        "threads": limits.threads,
        "seed": limits.seed,
    }
    line: list[str] = []
    for name, value in wanted.items():
        template = solver.limits.get(name)
        if value is None or template is None:
            continue
        seconds = str(max(1, math.ceil(value)))
        line.extend(t.replace("{value}", repr(value)).replace("{whole_seconds}", seconds) for t in template)
    return line + [part for name, value in solver.options.items() for part in (name, str(value))]


def _start_arguments(command: Command, start: Array | None, columns: Sequence[str], folder: Path) -> list[str]:
    if start is None or not command.start:
        return []
    path = folder / "start.txt"
    lines = (f"{name} {value!r}\n" for name, value in zip(columns, start.tolist(), strict=True))
    path.write_text("".join(lines), encoding="ascii")
    return [argument.replace("{start}", str(path)) for argument in command.start]


def _run(
    command: Command, line: Sequence[str], folder: str, seconds: float | None
) -> tuple[int, str, Termination | None]:
    """Exit code, printed text, and why it was ended before its time, if it was."""
    program = locate(command)
    if program is None:
        return 127, f"{command.program} is not installed", None
    process: subprocess.Popen[bytes] | None = None
    ended: Termination | None = None
    with Path(folder, "printed").open("w+b") as output:
        try:
            with signals_deferred():
                process = start([program.path, *line], program.environment, output, folder)
            if not _waited_for(process, None if seconds is None else seconds + GRACE):
                ended = Termination.INTERRUPTED
                _ask_to_stop(process)
        except subprocess.TimeoutExpired:
            ended = Termination.TIME_LIMIT
        except KeyboardInterrupt:
            if not is_kept():
                raise
            ended = Termination.INTERRUPTED
            if process is not None:
                _ask_to_stop(process)
        except OSError as cause:
            if process is None:
                return 126, f"{program.path} cannot be run: {cause.strerror}", None
            raise
        finally:
            if process is not None:
                end(process)
        printed = _printed(output)
        if is_wanted("solver", DEBUG):
            output.seek(0)
            while line_printed := output.readline(MOST_OF_A_LINE):
                log("solver", DEBUG, "%s: %s", command.program, line_printed.decode("utf-8", "replace").rstrip("\r\n"))
    return 0 if process is None else process.returncode, printed, ended


def _printed(output: IO[bytes]) -> str:
    """Return the output of a program; of long output, the beginning and the end."""
    length = output.seek(0, os.SEEK_END)
    output.seek(0)
    if length <= 2 * KEPT_AT_ENDS:
        return output.read().decode("utf-8", "replace")
    first = output.read(KEPT_AT_ENDS)
    output.seek(length - KEPT_AT_ENDS)
    left_out = f"\n... {length - 2 * KEPT_AT_ENDS:,} bytes left out ...\n"
    return left_out.join(part.decode("utf-8", "replace") for part in (first, output.read(KEPT_AT_ENDS)))


def _waited_for(process: subprocess.Popen[bytes], seconds: float | None) -> bool:
    """Return True if it ended by itself before anybody wanted it to stop. Raises TimeoutExpired."""
    if not is_stoppable():
        process.wait(seconds)
        return True
    ends = math.inf if seconds is None else time.monotonic() + seconds
    while not is_stopped():
        try:
            process.wait(min(GLANCE, max(ends - time.monotonic(), 0.0)))
        except subprocess.TimeoutExpired:
            if time.monotonic() < ends:
                continue
            raise
        return True
    return False


def _ask_to_stop(process: subprocess.Popen[bytes]) -> None:
    """Let a program that handles Ctrl-C write its best solution."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired, KeyboardInterrupt):
        process.send_signal(signal.SIGINT)
        process.wait(GRACE)


def _reply(
    solver: SolverFile,
    code: int,
    printed: str,
    ended: Termination | None,
    solution: Path,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
) -> Reply:
    command = solver.command
    assert command is not None
    try:
        text = solution.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        text = ""
    if ended is Termination.TIME_LIMIT:
        return Reply(ended, message=f"{command.program} overran its time limit and was ended")
    if ended is None and code != 0:
        return Reply(Termination.ERROR, message=_failure(command, code, printed))
    if not text:
        message = f"{command.program} wrote no solution; {_last_lines(printed)}"
        return Reply(ended or Termination.ERROR, message=message if ended is None else "")
    try:
        read, plugin = loaded(solver, command.reads)
    except (ImportError, AttributeError, MrdslError) as cause:
        return Reply(Termination.ERROR, message=unloaded("a reader", cause))
    try:
        if plugin is not None:
            read = plugin.guarded(read, f"reader `{command.reads}`", reply_mistake, (FormatError, *_UNREADABLE))
        reply = _in_order(read(text, printed), columns, rows)
    except (FormatError, *_UNREADABLE) as cause:
        message = f"{command.program} answered with garbage: {cause}"
        return Reply(ended or Termination.ERROR, message=message)
    stopped = (Termination.TIME_LIMIT, Termination.NODE_LIMIT)
    return replace(reply, termination=ended) if ended is not None and reply.termination in stopped else reply


def _in_order(reply: Reply, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Reply:
    """Return the reply by the program's own columns and rows, of which the file may have two for one, or a few more."""
    duals = None
    if reply.duals is not None:
        last = np.asarray(reply.duals)[len(reply.duals) - sum(map(len, rows)) :]
        ends = np.cumsum([0, *map(len, rows)])
        duals = np.array([last[i:j].sum() for i, j in pairwise(ends.tolist())])
    return replace(reply, values=_values(reply, columns), named=None, duals=duals)


def _values(reply: Reply, columns: Sequence[str]) -> Array | None:
    if reply.values is not None:
        if len(reply.values) < len(columns):
            raise FormatError(f"it gives {len(reply.values)} of {len(columns)} columns")
        return np.asarray(reply.values[: len(columns)], dtype=float)
    if reply.named is None:
        return None
    return np.array([reply.named.get(name, 0.0) for name in columns])


def _failure(command: Command, code: int, printed: str) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in {s.value for s in signal.Signals} else f"signal {-code}"
        how = "was killed" if -code == signal.SIGKILL else f"crashed ({name})"
    else:
        how = f"failed with exit code {code}"
    return f"{command.program} {how}; {_last_lines(printed)}"


def _last_lines(printed: str) -> str:
    lines = [line for line in printed.strip().splitlines() if line.strip()][-3:]
    return "it printed: " + " / ".join(lines) if lines else "it printed nothing"
