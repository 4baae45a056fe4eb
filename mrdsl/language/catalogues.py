"""``vms from ec2("types.csv") { require { ... } }``: one block for each type in a file of a provider.

Values come from the file first. ``prices = "prices.csv"``, a table of such blocks, adds values of types by name, and
``spot_prices = "history.json"`` their spot prices. Items in the braces set the values that neither has. ``spot = no``
leaves spot out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mrdsl.core import units
from mrdsl.core.diagnostics import Diagnostic, Span, error, has_errors, is_printable, number_of
from mrdsl.exchange.catalogues import INTERRUPTIONS, PRICE, SPOT_PRICE, UNKNOWN_RATE
from mrdsl.exchange.registry import CATALOGUES, SPOT_PRICES, Reader, named
from mrdsl.exchange.spot_history import mean_prices
from mrdsl.exchange.text import FormatError
from mrdsl.language import tree
from mrdsl.language.block_context import BlockContext, collect_shares, split_shares
from mrdsl.language.evaluate import note_currency
from mrdsl.language.generators import collect
from mrdsl.language.items import convert
from mrdsl.language.requirements import Attribute, Rows, matching_rows, split
from mrdsl.language.scope import MistakeError
from mrdsl.language.table_heads import NAME_COLUMN, attribute
from mrdsl.language.tables import resolve_table
from mrdsl.spec.columns import Columns, names_of
from mrdsl.spec.schema import Item, Node, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PRICES, SPOT_HISTORY, SPOT = "prices", "spot_prices", "spot"
OWN_ITEMS = {
    PRICES: Item("path", "a table of types by their names, whose prices and whatever else it has hold", default=""),
    SPOT_HISTORY: Item("path", "recorded spot prices, of which each type's mean counts", default=""),
    SPOT: Item("choice", "`no`: buy nothing on spot", default="yes", choices=("yes", "no")),
}
"""Items in the braces of a catalogue, in addition to those of its blocks."""
MOST_NAMED = 3
MOST_PLACES = 5


@dataclass(eq=False)
class _Listed:
    """The types of all files: names, numbers by path, further attributes for requirements, and places."""

    names: list[str]
    values: dict[str, NDArray[np.float64]]
    others: dict[str, Attribute]
    place: Callable[[int, str], Span]
    file: str


def resolve_catalogue(
    node_type: type[Node], word: str, block: tree.Block, statements: tuple[Any, ...], context: BlockContext
) -> Sequence[Node]:
    """Return the types of a catalogue that meet the requirements, as columns; empty after an error, with the reasons
    reported.
    """
    report = context.scope.report
    before = len(report.found)
    required, statements = split(statements)
    own, statements = _own(statements, context)
    listed = _listed(block, context)
    if listed is None or len(report.found) > before:
        return ()
    _from_files(listed, node_type, word, own, block, context)
    said = _said(listed, node_type, statements, block, context)
    rows = list(range(len(listed.names)))
    if required:
        rows = matching_rows(required, _rows(listed, node_type, word), context).nonzero()[0].tolist()
    if len(report.found) > before:
        return ()
    _check_kept(listed, rows, context)
    if len(report.found) > before:
        return ()
    values = {path: value[rows] if getattr(value, "ndim", 0) else value for path, value in said.items()}
    names = [listed.names[row] for row in rows]
    return Columns(node_type, names, values | _numbers(listed, rows), partial(_place_of, listed.place, rows))


def _place_of(place: Callable[[int, str], Span], rows: Sequence[int], row: int) -> Span:
    return place(rows[row], "")


def _own(statements: tuple[Any, ...], context: BlockContext) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Return the values of the items that are the catalogue's own, and the other statements."""
    own: dict[str, Any] = {}
    others = []
    for statement in statements:
        match statement:
            case tree.Assignment((word,), value) if str(word) in OWN_ITEMS and str(word) not in own:
                try:
                    own[str(word)] = convert(str(word), OWN_ITEMS[str(word)], value, context.scope, context.files)
                except MistakeError as mistake:
                    context.scope.report.add(mistake.diagnostic)
            case _:
                others.append(statement)
    return own, tuple(others)


def _listed(block: tree.Block, context: BlockContext) -> _Listed | None:
    """Return the types of the file in the call, or None if it cannot be read."""
    scope, call = context.scope, block.call
    assert call is not None
    reader = named(CATALOGUES, str(call.function))
    assert reader is not None
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], tree.Text):
        takes = f"`{reader.name}` takes one file name"
        scope.report.add(error("wrong-arguments", takes, scope.span(call), f'write `{reader.name}("file")`'))
        return None
    written = call.arguments[0].value
    try:
        path = context.files.find(written, call.arguments[0], scope)
        catalogue = _read(reader, str(path), context.files.shown(written), context)
        if catalogue is None:
            return None
        note_currency(units.UNITS[catalogue.currency], call.arguments[0].token, scope)
        place = partial(_shown_place, catalogue.place, context.files.shown(written))
        hidden = next((row for row, name in enumerate(catalogue.names) if not is_printable(name)), None)
        if hidden is not None:
            said = f"the name `{catalogue.names[hidden]}` of this type holds a control character"
            scope.report.add(error("control-character", said, place(hidden, ""), "leave it out"))
            return None
    except MistakeError as mistake:
        scope.report.add(mistake.diagnostic)
        return None
    others = {NAME_COLUMN: Attribute(as_words=lambda: catalogue.names)}
    for word, (numbers, kind) in catalogue.numbers.items():
        others[word] = Attribute(partial(_same, numbers), units.KINDS[kind].dimension)
    for word, words in catalogue.words.items():
        others[word] = Attribute(as_words=partial(_same, words))
    return _Listed(list(catalogue.names), dict(catalogue.values), others, place, written)


def _same(value: Any) -> Any:
    return value


def _shown_place(place: Callable[[int, str], Span], shown: str, row: int, path: str) -> Span:
    return replace(place(row, path), file=shown)


def _read(reader: Reader[Any], path: str, shown: str, context: BlockContext) -> Any:
    """Return the contents of a file from its reader, or None after an error, which is reported under the shown name."""
    mistakes: list[Diagnostic] = []
    try:
        found = reader.read(path, mistakes)
    except FormatError as problem:
        context.scope.report.add(problem.diagnostic("unreadable-table", shown))
        return None
    for mistake in mistakes:
        place = None if mistake.span is None else replace(mistake.span, file=shown)
        context.scope.report.add(replace(mistake, span=place))
    return None if has_errors(mistakes) else found


def _from_files(
    listed: _Listed, node_type: type[Node], word: str, own: dict[str, Any], block: tree.Block, context: BlockContext
) -> None:
    """Add the values of the tables of prices to the types of the catalogue."""
    import numpy as np

    places = {name: row for row, name in enumerate(listed.names)}
    if PRICES in own:
        priced = resolve_table(node_type, word, own[PRICES], (), context, block)
        for path, cells in _cells_by_path(priced):
            into = listed.values.setdefault(path, np.full(len(listed.names), np.nan))
            for name, cell in zip(names_of(priced), cells, strict=True):
                if name in places and not np.isnan(cell):
                    into[places[name]] = cell
    if SPOT_HISTORY in own:
        _spot_prices(listed, own[SPOT_HISTORY], places, context)
    if own.get(SPOT) == "no":
        for path in (SPOT_PRICE, INTERRUPTIONS):
            listed.values.pop(path, None)


def _cells_by_path(priced: Sequence[Node]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the numbers of a table of types by their paths."""
    if isinstance(priced, Columns):
        for path, value in priced.values.items():
            if getattr(value, "dtype", None) == "float64":
                yield path, value


def _spot_prices(listed: _Listed, source: Source, places: dict[str, int], context: BlockContext) -> None:
    import numpy as np

    records = _read(SPOT_PRICES[0], source.path, context.files.shown(source.written), context)
    if records is None:
        return
    products = sorted({record.product for record in records})
    if len(products) > 1:
        context.scope.report.add(
            error(
                "broken-history",
                f"`{source.written}` has prices of {', '.join(products)}",
                source.span,
                'ask for one of them: --product-descriptions "Linux/UNIX"',
            )
        )
        return
    into = listed.values.setdefault(SPOT_PRICE, np.full(len(listed.names), np.nan))
    for name, price in mean_prices(records).items():
        if name in places:
            into[places[name]] = price


def _said(
    listed: _Listed, node_type: type[Node], statements: tuple[Any, ...], block: tree.Block, context: BlockContext
) -> dict[str, Any]:
    """Return the items in the braces, which apply to all types without a value from a file."""
    said: dict[str, Any] = {}
    span = tree.header_span(block)
    shares, statements = split_shares(node_type, statements)
    collect(node_type, statements, context, len(listed.names), "", said, span, frozenset(), [])
    _fill_in(listed, said)
    shared = collect_shares(node_type, shares, context, len(listed.names), said | listed.values)
    _fill_in(listed, shared)
    return said | shared


def _fill_in(listed: _Listed, said: dict[str, Any]) -> None:
    """Move items in the braces to the types of which the files have that item, but no value."""
    import numpy as np

    for path in [path for path in said if path in listed.values]:
        there, value = listed.values[path], said.pop(path)
        rates = listed.values.get(INTERRUPTIONS)
        if path == INTERRUPTIONS:
            open_ones = there == UNKNOWN_RATE
        else:
            open_ones = np.isnan(there) & (~np.isnan(rates) if path == SPOT_PRICE and rates is not None else True)
        listed.values[path] = np.where(open_ones, value, there)


def _rows(listed: _Listed, node_type: type[Node], word: str) -> Rows:
    """Return the types as rows for requirements; unknown values, and spot values of types without spot, are empty."""
    import numpy as np

    attributes = dict(listed.others)
    for path, values in listed.values.items():
        found = attribute(node_type, path)
        if found is not None:
            known = np.where(np.isinf(values), np.nan, values)
            attributes[path] = Attribute(partial(_same, known), units.KINDS[found[1].kind].dimension)
    return Rows(word, node_type, listed.names, attributes, listed.file)


def _check_kept(listed: _Listed, rows: Sequence[int], context: BlockContext) -> None:
    """Every type that is left has a price on demand, and one on spot only with a rate of interruptions."""
    import numpy as np

    report = context.scope.report
    price = listed.values.get(PRICE)
    unpriced = [row for row in rows if price is None or np.isnan(price[row])]
    for row in unpriced[:MOST_PLACES]:
        more = len(unpriced) - MOST_PLACES
        tail = f" ({number_of(more, 'more type')} alike)" if more > 0 and row == unpriced[MOST_PLACES - 1] else ""
        report.add(
            error(
                "no-price",
                f"`{listed.names[row]}` has no price on demand{tail}",
                listed.place(row, PRICE),
                f'write `{PRICES} = "prices.csv"` in the braces, a table of name and on_demand.price [USD/h], '
                "or leave the type out by `require`",
            )
        )
    rates, spot = listed.values.get(INTERRUPTIONS), listed.values.get(SPOT_PRICE)
    if rates is None or spot is None:
        return
    sold = [row for row in rows if rates[row] == UNKNOWN_RATE and not np.isnan(spot[row])]
    if not sold:
        return
    which = ", ".join(listed.names[row] for row in sold[:MOST_NAMED]) + (", ..." if len(sold) > MOST_NAMED else "")
    what = "type is" if len(sold) == 1 else "types are"
    report.add(
        error(
            "unknown-interruptions",
            f"{len(sold)} {what} sold on spot, and `{listed.file}` has no interruption rate: {which}",
            listed.place(sold[0], INTERRUPTIONS),
            "write a rate for them in the braces, such as `spot { interruptions = 0.0007/h }`, which is 40 % a month, "
            "or `spot = no`",
        )
    )


def _numbers(listed: _Listed, rows: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of the remaining types; spot only if both its price and its interruptions are known."""
    import numpy as np

    values = {path: value[rows] for path, value in listed.values.items()}
    if SPOT_PRICE in values or INTERRUPTIONS in values:
        none = np.full(len(rows), np.nan)
        price, rates = values.pop(SPOT_PRICE, none), values.pop(INTERRUPTIONS, none)
        sold = ~np.isnan(price) & ~np.isnan(rates)
        if sold.any():
            values |= {SPOT_PRICE: np.where(sold, price, np.nan), INTERRUPTIONS: np.where(sold, rates, np.nan)}
    return {path: value for path, value in values.items() if not np.isnan(value).all()}
