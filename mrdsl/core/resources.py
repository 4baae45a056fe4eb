"""Resources of the package: grammar, families, solver files and the pages of diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mrdsl.core.diagnostics import did_you_mean, one_error

_PACKAGE = Path(__file__).resolve().parents[1]


def resource(name: str) -> Path:
    """Return the path of a shipped file or folder, such as ``solvers`` or ``grammar/mrspec.lark``.

    Raises FileNotFoundError if the installation is damaged.
    """
    for place in (_PACKAGE / "data" / name, _PACKAGE.parent / name):
        if place.exists():
            return place
    unpacked = _unpacked()
    if unpacked is not None and (unpacked / name).exists():
        return unpacked / name
    raise FileNotFoundError(f"this installation of mrdsl lacks {name!r}; install mrdsl again")


def resource_text(name: str) -> str:
    """Return the text of a shipped file."""
    return resource(name).read_text(encoding="utf-8")


@cache
def _unpacked() -> Path | None:
    """Return the data of a package that runs out of a zip file, laid in a temporary folder while the process lives."""
    import atexit
    from contextlib import ExitStack
    from importlib.resources import files

    from mrdsl.core.guarded import scratch_folder

    data = files("mrdsl") / "data"
    if isinstance(data, Path) or not data.is_dir():
        return None
    until_the_end = ExitStack()
    folder = until_the_end.enter_context(scratch_folder())
    atexit.register(until_the_end.close)
    _unpack(data, folder)
    return folder


def _unpack(source: Any, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _unpack(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())


def codes() -> Mapping[str, str]:
    """Return every code with the sentence that its page begins with."""
    return {code: _first_line(file.read_text(encoding="utf-8")) for code, file in _pages().items()}


def page(code: str) -> str:
    """Return the explanation of a code as Markdown, with a bad and a good spec. Raises MrdslError ``unknown-code``."""
    known = _pages()
    if code not in known:
        hint = did_you_mean(code, known, "codes: ")
        raise one_error("unknown-code", f"there is no diagnostic `{code}`", None, hint)
    text: str = known[code].read_text(encoding="utf-8")
    return text


def _pages() -> dict[str, Any]:
    return {path.stem: path for path in sorted(resource("grammar/diagnostics").glob("*.md"))}


def _first_line(text: str) -> str:
    return next(line for line in text.splitlines()[1:] if line.strip())
