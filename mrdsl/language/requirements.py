"""Requirements on params and on rows of a table: ``require { ... }``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from math import isclose
from typing import TYPE_CHECKING, Any

from mrdsl.core import units
from mrdsl.core.diagnostics import Related, did_you_mean, error
from mrdsl.language import tree
from mrdsl.language.block_context import BlockContext
from mrdsl.language.evaluate import fixed_value
from mrdsl.language.formatting import inline_text
from mrdsl.language.items import convert, word_param
from mrdsl.language.parameters import Parameters
from mrdsl.language.scope import MistakeError, Scope, Value
from mrdsl.language.tree import Token
from mrdsl.spec.columns import optional_block
from mrdsl.spec.schema import Item, Node

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


WORD = "require"
_EQUAL_TO = 1e-9
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    **dict.fromkeys(("=", "=="), lambda left, right: isclose(left, right, rel_tol=_EQUAL_TO)),
}


def is_requirement(statement: Any) -> bool:
    """Return True if a statement of the top level is a ``require { ... }`` block."""
    return isinstance(statement, tree.Block) and str(statement.words[0]) == WORD


def check_requirements(blocks: Iterable[tree.Block], parameters: Parameters, scope: Scope) -> None:
    """Report every comparison that does not hold or cannot be made; a broken param has been reported before."""
    for block in blocks:
        _check_header(block, scope)
        for statement in block.statements or ():
            try:
                _check(statement, parameters, scope)
            except MistakeError as mistake:
                scope.report.add(mistake.diagnostic)


def _check_header(block: tree.Block, scope: Scope) -> None:
    extra = [part for part in (*block.words[1:], block.indexed, *block.more, block.call) if part is not None]
    if extra or block.statements is None:
        scope.report.add(
            error(
                "unexpected-name" if extra else "wrong-statement",
                f"`{WORD}` has no name" if extra else f"`{WORD}` has no effect",
                scope.span(extra[0] if extra else block.words[0]),
                f"write `{WORD} {{ peak <= 2 }}`",
            )
        )


def _check(statement: Any, parameters: Parameters, scope: Scope) -> None:
    if not isinstance(statement, tree.Comparison):
        raise scope.mistake(
            "wrong-statement",
            "`require` holds comparisons",
            tree.first_token(statement),
            "write `peak <= 2`, with `<=`, `>=` or `==`",
        )
    left, right = (fixed_value(side, scope, "a requirement") for side in (statement.left, statement.right))
    if not (units.fits(left.dimension, right.dimension) or units.fits(right.dimension, left.dimension)):
        raise scope.mistake(
            "wrong-unit",
            f"cannot compare {units.describe(left.dimension)} with {units.describe(right.dimension)}",
            statement,
            "both sides must have the same dimension",
        )
    if _HOLDS[statement.operator](left.number, right.number):
        return
    mentioned = {str(token) for token in tree.names_in(statement)}
    names = [name for name in parameters.names if name in mentioned]
    values = [(name, parameters.value(name)) for name in names]
    shown = [f"`{name}` is {_shown(value, scope)}" for name, value in values if value is not None]
    scope.report.add(
        error(
            "requirement-not-met",
            f"`{inline_text(statement)}` does not hold" + (": " + ", ".join(shown) if shown else ""),
            scope.span(statement),
            f"give `{names[0]}` a value with which it holds" if names else "compare a param",
            *(Related(f"`{name}` is defined here", scope.span(parameters.statement(name))) for name in names),
        )
    )


def _shown(value: Value, scope: Scope) -> str:
    kind = next((name for name, kind in units.KINDS.items() if kind.dimension == value.dimension), None)
    if kind is None:
        return f"{value.number:g} (SI)"
    return units.show(float(value.number), kind, scope.report.currency or units.DEFAULT_CURRENCY)


EQUAL = 1e-9
MOST_TOLD = 3


@dataclass(frozen=True)
class Attribute:
    """One column for requirements.

    Its cells are read as numbers of one dimension, with NaN for empty cells, and as words, with None if they are not
    words.
    """

    as_numbers: Callable[[], NDArray[np.float64]] | None = None
    dimension: units.Dimension = units.NUMBER
    as_words: Callable[[], Sequence[str]] | None = None

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        assert self.as_numbers is not None
        return self.as_numbers()

    @cached_property
    def words(self) -> Sequence[str]:
        assert self.as_words is not None
        return self.as_words()


@dataclass(frozen=True)
class Clause:
    """One requirement: its text, the attribute, the rows that meet it, and the shortfall of the others."""

    text: str
    name: str
    attribute: Attribute
    met: NDArray[np.bool_]
    short: NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """The rows of a table: what each is, their names, their attributes by dotted path, and the table's file."""

    word: str
    node_type: type[Node]
    names: Sequence[str]
    attributes: Mapping[str, Attribute]
    file: str


def split(statements: tuple[Any, ...]) -> tuple[tuple[tree.Block, ...], tuple[Any, ...]]:
    """Return the blocks ``require { ... }`` among the statements of a table's braces, and the others."""
    asked = tuple(s for s in statements if isinstance(s, tree.Block) and str(s.words[0]) == WORD)
    return asked, tuple(s for s in statements if s not in asked) if asked else statements


def required_words(blocks: Sequence[tree.Block]) -> frozenset[str]:
    """Return the words that requirements use at their top level."""
    return frozenset(
        str(token) for block in blocks for each in block.statements or () if (token := _subject(each)) is not None
    )


def matching_rows(blocks: Sequence[tree.Block], rows: Rows, context: BlockContext) -> NDArray[np.bool_]:
    """Return the rows that meet all requirements; if one is wrong or no row is left, report the reason and
    return none.
    """
    import numpy as np

    report = context.scope.report
    before = len(report.found)
    clauses = [clause for block in blocks for clause in _clauses(block, "", rows, context)]
    if len(report.found) > before:
        return np.zeros(len(rows.names), dtype=bool)
    kept = np.ones(len(rows.names), dtype=bool)
    for clause in clauses:
        kept &= clause.met
    if not kept.any():
        report.add(_nothing_left(clauses, blocks[0], rows, context.scope))
    return kept


def _clauses(block: tree.Block, prefix: str, rows: Rows, context: BlockContext) -> Iterator[Clause]:
    scope = context.scope
    for statement in block.statements or ():
        try:
            if isinstance(statement, tree.Block) and statement.statements is not None:
                yield from _clauses(statement, f"{prefix}{tree.word_text(statement.words[0])}.", rows, context)
            else:
                yield _clause(statement, prefix, rows, scope)
        except MistakeError as mistake:
            scope.report.add(mistake.diagnostic)


def _subject(statement: Any) -> Token | None:
    """Return the word that a statement constrains, or None."""
    match statement:
        case tree.Assignment((word,), _) | tree.Comparison(tree.Name(word), _, _):
            found: Token = word
            return found
    return None


def _clause(statement: Any, prefix: str, rows: Rows, scope: Scope) -> Clause:
    token = _subject(statement)
    if token is None:
        raise scope.mistake(
            "wrong-statement",
            "`require` contains conditions on rows",
            tree.first_token(statement),
            "write `cores >= 4`, with `<=`, `>=` or `==`, or `name = word`",
        )
    name = _attribute_name(prefix + tree.word_text(token), token, rows, scope)
    attribute = rows.attributes[name]
    if isinstance(statement, tree.Assignment) and _says_words(statement.value, scope):
        return _of_words(statement, name, attribute, scope)
    operator = "==" if isinstance(statement, tree.Assignment) else statement.operator
    return _of_numbers(statement, operator, name, attribute, scope)


def _attribute_name(written: str, token: Any, rows: Rows, scope: Scope) -> str:
    """Return the attribute of that path; or the one whose last word it is, if one alone, or one alone is in every row's
    block.

    Raises MistakeError.
    """
    if written in rows.attributes:
        return written
    ends = [path for path in rows.attributes if path.endswith(f".{written}")]
    always = [path for path in ends if not optional_block(rows.node_type, path)]
    if len(ends) == 1 or len(always) == 1:
        return (ends if len(ends) == 1 else always)[0]
    if ends:
        block, _, last = ends[0].rpartition(".")
        raise scope.mistake(
            "ambiguous-name",
            f"`{written}` may be {' or '.join(f'`{path}`' for path in ends)}",
            token,
            f"write `{block.replace('.', ' { ')} {{ {last} ... }}`",
        )
    raise scope.mistake(
        "unknown-column",
        f"`{rows.file}` has no column `{written}`",
        token,
        did_you_mean(written, rows.attributes, "columns: "),
    )


def _says_words(node: Any, scope: Scope) -> bool:
    if isinstance(node, tree.Name) and node.token in scope.parameter_names:
        return word_param(node, scope) is not None
    return isinstance(node, tree.Name | tree.Text | tree.List)


def _of_words(statement: tree.Assignment, name: str, attribute: Attribute, scope: Scope) -> Clause:
    """``emr = yes``, ``name = ["m5.*", "r5.*"]``."""
    import numpy as np

    if attribute.as_words is None:
        raise scope.mistake(
            "wrong-value", f"`{name}` is a number", statement.value, f"write `{name} >= 4`, with its unit"
        )
    wanted = convert(name, Item("names", ""), statement.value, scope)
    met = np.array([any(fnmatchcase(word, each) for each in wanted) for word in attribute.words], dtype=bool)
    return Clause(inline_text(statement), name, attribute, met, np.where(met, 0.0, 1.0))


def _of_numbers(statement: Any, operator: str, name: str, attribute: Attribute, scope: Scope) -> Clause:
    import numpy as np

    node = statement.value if isinstance(statement, tree.Assignment) else statement.right
    value = fixed_value(node, scope, "a requirement")
    if attribute.as_numbers is None:
        raise scope.mistake("wrong-value", f"`{name}` holds words", node, f"write `{name} = word`")
    there = attribute.numbers
    if not units.fits(value.dimension, attribute.dimension):
        raise scope.mistake(
            "wrong-unit",
            f"`{name}` is {units.describe(attribute.dimension)}, but `{inline_text(statement)}` compares it with "
            f"{units.describe(value.dimension)}",
            node,
            "both sides must have the same dimension",
        )
    wanted, room = value.number, EQUAL * abs(value.number)
    with np.errstate(invalid="ignore"):
        below, above = there >= wanted - room, there <= wanted + room
    met = {"<=": above, ">=": below}.get(operator, above & below)
    largest = np.maximum(np.abs(there), abs(wanted))
    with np.errstate(invalid="ignore", divide="ignore"):
        short = np.where(met, 0.0, np.nan_to_num(np.abs(there - wanted) / largest, nan=1.0))
    return Clause(inline_text(statement), name, attribute, met, short)


def _nothing_left(clauses: Sequence[Clause], block: tree.Block, rows: Rows, scope: Scope) -> Any:
    """Return the error if no row meets all requirements, with the row that misses the fewest by the least."""
    import numpy as np

    missed = np.sum([~clause.met for clause in clauses], axis=0)
    short = np.sum([clause.short for clause in clauses], axis=0)
    best = int(np.lexsort((short, missed))[0])
    failing = [clause for clause in clauses if not clause.met[best]]
    told = ", ".join(
        f"its `{clause.name}` is {_shown_clause(clause, best, scope)} (`{clause.text}`)"
        for clause in failing[:MOST_TOLD]
    )
    return error(
        "nothing-left",
        f"no {rows.word} of `{rows.file}` meets all requirements; nearest is {rows.names[best]}: {told}",
        scope.span(block.words[0]),
        "require less, or add rows to the table",
    )


def _shown_clause(clause: Clause, row: int, scope: Scope) -> str:
    attribute = clause.attribute
    if attribute.as_words is not None:
        return f"`{attribute.words[row]}`" if attribute.words[row] else "empty"
    number = float(attribute.numbers[row])
    if number != number:
        return "empty"
    kind = next((k.name for k in units.KINDS.values() if k.dimension == attribute.dimension), "number")
    return units.show(number, kind, scope.report.currency or units.DEFAULT_CURRENCY)
