"""Resolution of a document's statements, and of those that it imports, to a Spec."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mrdsl.contracts.family import SENSES, Family
from mrdsl.core import budgets, units
from mrdsl.core.arguments import written_number
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Related, Span, chained, did_you_mean, error, note, warning
from mrdsl.core.reading import shown_name
from mrdsl.exchange.text import read_document
from mrdsl.families import family as find_family
from mrdsl.families import family_names
from mrdsl.language import tree
from mrdsl.language.block_context import NO_SEED, BlockContext
from mrdsl.language.blocks import ItemSpans, resolve_block
from mrdsl.language.evaluate import require_printable
from mrdsl.language.items import Files, outside_error
from mrdsl.language.parameters import Parameters, is_param, report_repeats, resolve_method
from mrdsl.language.parsing import parse
from mrdsl.language.plan_expressions import OwnQuantities, is_let, resolve_constraints, resolve_goal
from mrdsl.language.requirements import check_requirements, is_requirement
from mrdsl.language.scope import MistakeError, Renamed, Report, Scope, TooManyMistakesError
from mrdsl.spec.scaling import SCALE, factors_in, names_in, scaled
from mrdsl.spec.schema import Block, Node
from mrdsl.spec.spec import FileRead, Spec

NO_PARAMETERS = ("problem", "minimize", "maximize", "estimate", "solve")


@dataclass
class Importer:
    """A collector of the statements of a document and its imports; each file is read once."""

    files: Files
    report: Report
    texts: dict[str, str] = field(default_factory=dict)
    seen: set[Path] = field(default_factory=set)

    def expand(self, statements: tuple[Any, ...], folder: Path, chain: tuple[Path, ...]) -> list[Any]:
        """Return the statements with every import replaced by its statements."""
        out: list[Any] = []
        for statement in statements:
            if isinstance(statement, tree.Block) and statement.words[0] == "import":
                out.extend(self._import(statement, folder, chain))
            else:
                out.append(statement)
        return out

    def _import(self, statement: tree.Block, folder: Path, chain: tuple[Path, ...]) -> list[Any]:
        scope = Scope(self.report, lambda _: None)
        words = statement.words
        try:
            if len(words) != 2 or words[1].type != "STRING" or statement.statements is not None:
                raise scope.mistake(
                    "wrong-statement", "an import names one file", statement, 'write `import "file.mrspec"`'
                )
            written = tree.word_text(words[1])
            looked_up = Files(folder, self.files.outside, self.files.found)
            path = (
                looked_up.find(written, words[1], scope)
                if self.files.outside
                else _inside(looked_up, written, words[1], scope, self.files.folder)
            )
            if path in chain:
                cycle = chained([p.name for p in (*chain[chain.index(path) :], path)])
                raise scope.mistake(
                    "import-cycle",
                    f"this import comes back to its own file: {cycle}",
                    words[1],
                    "move what both need into a third file",
                    Related("the cycle starts in this file", scope.span(words[0])),
                )
            if len(chain) > budgets.IMPORT_DEPTH or len(self.seen) >= budgets.IMPORTS:
                raise scope.mistake(
                    "too-many-imports",
                    f"this import goes beyond {budgets.IMPORTS} files, or {budgets.IMPORT_DEPTH} inside one another",
                    words[1],
                    "put the shared parts into fewer files",
                )
        except MistakeError as mistake:
            self.report.add(mistake.diagnostic)
            return []
        if path in self.seen:
            return []
        self.seen.add(path)
        return self._read(path, looked_up.shown(written), words[1], scope, chain)

    def _read(self, path: Path, shown: str, node: Any, scope: Scope, chain: tuple[Path, ...]) -> list[Any]:
        text, problem = read_document(path)
        if text is None:
            message = f"`{shown_name(shown)}` cannot be read: {problem}"
            self.report.add(error("unreadable-file", message, scope.span(node), "name a file of UTF-8 text"))
            return []
        document, mistakes = parse(text, shown)
        self.texts[shown] = text
        for mistake in mistakes:
            self.report.add(mistake)
        kept = [s for s in document.statements if not self._forbidden(s)]
        return self.expand(tuple(kept), path.parent, (*chain, path))

    def _forbidden(self, statement: Any) -> bool:
        if not isinstance(statement, tree.Block | tree.Goal) or str(statement.words[0]) not in NO_PARAMETERS:
            return False
        scope = Scope(self.report, lambda _: None)
        self.report.add(
            error(
                "wrong-statement",
                f"an imported file cannot contain `{statement.words[0]}`",
                scope.span(statement.words[0]),
                "move this line into the spec itself",
            )
        )
        return True


def _inside(files: Files, written: str, node: Any, scope: Scope, root: Path) -> Path:
    """Return the imported file, which lies below the spec's own folder."""
    if not files.resolved(written, node, scope).is_relative_to(root.resolve()):
        raise outside_error(written, node, scope)
    return Files(files.folder, outside=True, found=files.found).find(written, node, scope)


@dataclass
class Sorted:
    """The statements of the top level by kind."""

    problem: list[tree.Block] = field(default_factory=list)
    goals: list[tree.Block | tree.Goal] = field(default_factory=list)
    subject: list[tree.Block] = field(default_factory=list)
    methods: list[tree.Block] = field(default_factory=list)
    params: list[tree.Assignment] = field(default_factory=list)
    lets: list[tree.Assignment] = field(default_factory=list)
    requirements: list[tree.Block] = field(default_factory=list)
    seeds: list[tree.Assignment] = field(default_factory=list)
    rest: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Loaded:
    """A spec and the diagnostics of its text. ``spec`` is None after an error.

    ``texts`` maps the shown names of the files that were read to their contents, for messages that quote them.
    ``files`` are its imports, tables and data files. ``renamed`` are words of an earlier release, with their places.
    ``dropped`` are the names of blocks with an error, which the spec leaves out.
    """

    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    files: tuple[Path, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    dropped: frozenset[str] = frozenset()


def resolve(
    document: tree.Document,
    folder: Path,
    path: Path | None,
    overrides: Mapping[str, Any],
    seed: int | None = None,
    outside: bool = False,
) -> Loaded:
    """Resolve a document. ``folder`` contains the files of the spec."""
    report = Report()
    files = Files(folder, outside)
    importer = Importer(files, report, {document.file: document.text})
    try:
        statements = importer.expand(document.statements, folder, (path.resolve(),) if path is not None else ())
        parts = sort_statements(statements)
        plain = {name: value for name, value in overrides.items() if not name.startswith(SCALE)}
        spec = _resolve(parts, files, report, plain, seed, document)
        if len(plain) < len(overrides) and spec is not None:
            spec = replace(spec, facts=_scaled(spec, overrides, report), given=MappingProxyType(dict(overrides)))
    except TooManyMistakesError:
        report.found.append(_too_many(report.found[-1].span))
        return Loaded(None, tuple(report.found), importer.texts, tuple(files.found))
    if spec is not None:
        spec = replace(spec, files=_read_files((path.resolve(),) if path is not None else (), files.found))
    report.found += _renamed(report.renamed)
    renamed, dropped = tuple(report.renamed), frozenset(report.dropped)
    return Loaded(spec, tuple(report.found), importer.texts, tuple(files.found), renamed, dropped)


LEAST_FACTOR, MOST_FACTOR = 1e-6, 1e6
"""The range of factors: beyond it the numbers of every spec are out of theirs."""


def _scaled(spec: Spec, overrides: Mapping[str, Any], report: Report) -> Any:
    """Return the facts with the numbers that ``--scale`` multiplies; factors that are wrong are reported."""
    facts, factors = spec.facts, dict[str, float]()
    for name, given in factors_in(overrides):
        factor = _factor(given)
        if factor is None:
            hint = f"write a number from {LEAST_FACTOR:f} to {MOST_FACTOR:.0f}, such as `{name}=1.3` or `{name}=130%`"
            report.add(error("wrong-option", f"invalid factor `{given}` for `{name}`", None, hint))
        else:
            factors[name] = factor
    changed, unknown = scaled(facts, factors)
    for name in unknown:
        report.add(
            error(
                "unknown-name",
                f"no number of the spec is called `{name}`",
                None,
                f"to set the param, write `-D {name}=VALUE`"
                if name in spec.parameters
                else did_you_mean(name, names_in(facts), "numbers: "),
            )
        )
    return changed


def _factor(given: Any) -> float | None:
    text = str(given).strip()
    try:
        factor = written_number(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return None
    return factor if LEAST_FACTOR <= factor <= MOST_FACTOR else None


def _renamed(renamed: Iterable[Renamed]) -> Iterator[Diagnostic]:
    """Yield a warning for each former word, at its first place."""
    first = {each.was: each for each in reversed(list(renamed))}
    for each in first.values():
        yield warning(
            "former-word",
            f"`{each.was}` is now called `{each.word}`",
            each.span,
            f"write `{each.word}`, or run `mrdsl fmt --upgrade {each.span.file}`",
        )


def _read_files(own: Iterable[Path], found: Iterable[Path]) -> tuple[FileRead, ...]:
    read = []
    for path in dict.fromkeys((*own, *found)):
        with contextlib.suppress(OSError):
            status = path.stat()
            read.append(FileRead(str(path), status.st_size, status.st_mtime_ns))
    return tuple(read)


def _too_many(at: Span | None) -> Diagnostic:
    message = f"more than {budgets.DIAGNOSTICS} errors: the rest was not checked"
    return note("too-many-mistakes", message, at, "correct these first, then check again")


def _resolve(
    parts: Sorted,
    files: Files,
    report: Report,
    overrides: Mapping[str, Any],
    seed: int | None,
    document: tree.Document,
) -> Spec | None:
    parameters = Parameters(report)
    for param in parts.params:
        parameters.define(param)
    parameters.override(overrides)
    values = parameters.evaluate_all()
    scope = Scope(report, parameters.value, parameters.names)
    check_requirements(parts.requirements, parameters, scope)
    family, title = _problem(parts.problem, scope, document)
    if family is None:
        return None
    seed = _seed(parts.seeds, scope) if seed is None else seed
    context = BlockContext(scope, files, NO_SEED if seed is None else seed, "", "", _read_repeated)
    at = tree.header_span(parts.problem[0])
    facts = resolve_block(family.facts, tuple(parts.rest), context, "", at)
    asked = goals_and_constraints(parts, family, facts, scope)
    method = resolve_method(parts.methods, family, context)
    if facts is None:
        return None
    return Spec(
        problem=family.name,
        facts=facts,
        title=title,
        **asked,
        method=method,
        seed=seed,
        currency=report.currency or units.DEFAULT_CURRENCY,
        parameters=MappingProxyType(values),
        file=document.file,
        text=document.text,
        given=MappingProxyType(dict(overrides)),
        span=at,
        spans=ItemSpans({"seed": parts.seeds[0]} if parts.seeds else {}),
    )


def _read_repeated(word: str, declared: Block, blocks: Sequence[tree.Block], context: BlockContext) -> Sequence[Node]:
    from mrdsl.language.repeated import resolve_repeated

    return resolve_repeated(word, declared, blocks, context)


def sort_statements(statements: list[Any]) -> Sorted:
    parts = Sorted()
    for statement in statements:
        word = statement.words[0] if isinstance(statement, tree.Assignment | tree.Block | tree.Goal) else ""
        if isinstance(statement, tree.Goal):
            (parts.goals if word in SENSES else parts.rest).append(statement)
        elif isinstance(statement, tree.Assignment):
            if is_param(statement):
                parts.params.append(statement)
            elif is_let(statement):
                parts.lets.append(statement)
            elif word == "seed" and len(statement.words) == 1:
                parts.seeds.append(statement)
            else:
                parts.rest.append(statement)
        elif word == "problem":
            parts.problem.append(statement)
        elif word in SENSES:
            parts.goals.append(statement)
        elif is_requirement(statement):
            parts.requirements.append(statement)
        elif word == "subject" and statement.words[1:2] == ("to",):
            parts.subject.append(statement)
        elif word == "solve" and statement.words[1:2] == ("with",):
            parts.methods.append(statement)
        else:
            parts.rest.append(statement)
    return parts


def _problem(blocks: list[tree.Block], scope: Scope, document: tree.Document) -> tuple[Family | None, str]:
    report = scope.report
    if not blocks:
        report.add(
            error(
                "missing-problem",
                "the spec has no `problem` statement",
                Span(document.file, 1, 1, 1, 2),
                f'start with a line such as `problem capacity "title"`; kinds: {", ".join(family_names())}',
            )
        )
        return None, ""
    report_repeats(blocks, "a spec states one problem", "remove this line", scope)
    words = blocks[0].words
    if len(words) < 2 or words[1].type == "STRING":
        report.add(
            error(
                "missing-problem",
                "`problem` names no kind",
                scope.span(words[0]),
                f"kinds: {', '.join(family_names())}",
            )
        )
        return None, ""
    if len(words) > 3 or (len(words) == 3 and words[2].type != "STRING") or blocks[0].statements is not None:
        report.add(
            error(
                "wrong-statement",
                "`problem` takes a kind and a title",
                scope.span(blocks[0].words[-1]),
                f'write `problem {words[1]} "title"`',
            )
        )
    try:
        require_printable(words[-1], scope)
    except MistakeError as mistake:
        report.add(mistake.diagnostic)
    try:
        family = find_family(str(words[1]))
    except MrdslError as broken:
        for found_there in broken.diagnostics:
            report.add(replace(found_there, span=scope.span(words[1])))
        return None, ""
    if family is None:
        report.add(
            error(
                "unknown-problem",
                f"unknown problem kind `{words[1]}`",
                scope.span(words[1]),
                did_you_mean(str(words[1]), family_names(), "kinds: "),
            )
        )
    return family, tree.word_text(words[2]) if len(words) > 2 and words[2].type == "STRING" else ""


def _seed(statements: list[tree.Assignment], scope: Scope) -> int | None:
    if not statements:
        return None
    from mrdsl.language.items import convert
    from mrdsl.spec.declared import SEED

    report_repeats(statements, "`seed` is defined twice", "keep one of them", scope, "first written here")
    try:
        return int(convert("seed", SEED, statements[0].value, scope._replace(draws=None)))
    except MistakeError as mistake:
        scope.report.add(mistake.diagnostic)
        return None


def goals_and_constraints(parts: Sorted, family: Family, facts: Any, scope: Scope) -> dict[str, Any]:
    """Return the user-defined quantities, the objective and the comparisons of a spec, by field.

    If the facts are unusable, errors in names that they define are not reported.
    """
    report_repeats(parts.goals, "a spec has one goal", "remove this line", scope)
    own = OwnQuantities(parts.lets if facts is not None else (), family, facts, scope)
    goal = None
    if parts.goals and (facts is not None or not parts.lets):
        try:
            goal = resolve_goal(parts.goals[0], family, own)
        except MistakeError as mistake:
            scope.report.add(mistake.diagnostic)
    constraints = (each for block in parts.subject for each in resolve_constraints(block, own.builder))
    return {"lets": own.lets, "goal": goal, "constraints": tuple(constraints) if facts is not None else ()}
