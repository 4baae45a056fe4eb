"""Words of the language: items of a block, habits from other notations, names and numbers as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from mrdsl.core import units
from mrdsl.language import tree
from mrdsl.language.tree import Token
from mrdsl.spec.schema import Block, Item, Node, declarations


@dataclass(frozen=True)
class Vocabulary:
    """The words of one block: items, single blocks, repeated blocks by singular and by plural; each with its field.

    ``calls`` are items that may be written as a call in the value of another: by that item's word and the call's.
    ``former`` are words that a release before this one had, each with the word of today. ``elsewhere`` are words of
    other families, each with a hint what to write here. ``needed`` are the fields that have to be written. ``shares``
    are items that may be a share of another number of the block. ``plain`` keeps readings of numbers.
    """

    items: Mapping[str, tuple[str, Item]]
    singles: Mapping[str, tuple[str, Block]]
    repeated: Mapping[str, tuple[str, Block]]
    plurals: Mapping[str, tuple[str, Block]]
    calls: Mapping[tuple[str, str], tuple[str, Item]]
    former: Mapping[str, str]
    elsewhere: Mapping[str, str]
    needed: frozenset[str]
    one_of: tuple[tuple[str, ...], ...]
    shares: frozenset[str] = frozenset()
    plain: dict[tuple[str, str | None, str], Any] = field(default_factory=dict)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Every word that starts a block here."""
        return (*self.singles, *self.repeated)

    def is_single(self, block: tree.Block, word: str = "") -> bool:
        """Return True if a block is a single one; if a word can be both, a name after it makes it a repeated one."""
        word = word or tree.word_text(block.words[0])
        return word in self.singles and not (word in self.repeated and len(block.words) > 1)

    def short_form(self, word: str) -> tuple[str, Block, Item] | None:
        """Return the field, the block and the item that ``word = value`` sets if the word is a block's, or None."""
        name, block = self.singles.get(word, ("", None))
        if block is None or not block.short:
            return None
        item = declarations(block.node)[block.short]
        assert isinstance(item, Item)
        return name, block, item


def vocabulary(node: type[Node]) -> Vocabulary:
    """Return the words of a node type. A trailing underscore of a field, as in ``from_``, is not part of its word."""
    key: Any = node
    words: Vocabulary = _vocabulary(key)
    return words


@cache
def _vocabulary(node: Any) -> Vocabulary:
    items: dict[str, tuple[str, Item]] = {}
    singles: dict[str, tuple[str, Block]] = {}
    repeated: dict[str, tuple[str, Block]] = {}
    plurals: dict[str, tuple[str, Block]] = {}
    calls: dict[tuple[str, str], tuple[str, Item]] = {}
    former: dict[str, str] = {}
    for name, declared in declarations(node).items():
        word = name.rstrip("_")
        if declared.was:
            former[declared.was] = word
        if isinstance(declared, Item):
            items[word] = (name, declared)
            if declared.called:
                calls[declared.called, word] = (name, declared)
        elif declared.repeated:
            repeated[declared.word] = (name, declared)
            plurals[declared.plural] = (name, declared)
        else:
            singles[word] = (name, declared)
    return Vocabulary(
        MappingProxyType(items),
        MappingProxyType(singles),
        MappingProxyType(repeated),
        MappingProxyType(plurals),
        MappingProxyType(calls),
        MappingProxyType(former),
        node.ELSEWHERE,
        frozenset(name for name, declared in declarations(node).items() if declared.required),
        node.ONE_OF,
        frozenset(word for word, (_, item) in items.items() if item.share_of),
    )


_SIGNS = MappingProxyType({"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"})
_NUMBER = r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_AMOUNT = re.compile(rf"\s*({_NUMBER})")
_PER = re.compile(r"\s*(/\w+)")
_AMOUNT_BEFORE = re.compile(rf"({_NUMBER})\s*$")
_DECIMAL_COMMA = re.compile(rf"([0-9]{{1,3}}(?:\.[0-9]{{3}})+|[0-9]+),({_NUMBER})$")
_THOUSANDS = re.compile(r"(?<![\w.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?$")
_MORE_THOUSANDS = re.compile(r"(?:,[0-9]{3})+(?!\w)(?:\.[0-9]+)?")
_APART = re.compile(r"([1-9][0-9]{0,2})((?:[ '’][0-9]{3})+)(?![\w.])")
_RANGE_WORDS = ("to", "until", "and")


def money_sign(text: str, position: int) -> str:
    """Return the amount with the name of its currency, for a currency sign at a position of a text."""
    currency = _SIGNS.get(text[position])
    if currency is None:
        return ""
    amount = _AMOUNT.match(text, position + 1)
    behind = position + 1 if amount is None else amount.end()
    amount = amount or _AMOUNT_BEFORE.search(text[max(0, position - 40) : position])
    per = _PER.match(text, behind)
    time = per[1] if per is not None else ""
    return f"write `{amount[1]} {currency}{time}`" if amount is not None else f"write `{currency}` behind the amount"


def thousands_apart(text: str, position: int) -> str:
    """Return the correction of a digit group after a space or an apostrophe, as in `1 200`, or ""."""
    start = max(text.rfind("\n", 0, position) + 1, position - 20)
    for match in _APART.finditer(text, start):
        if match.start() < position <= match.end():
            return f"write `{re.sub(r'[^0-9]', '', match[0])}`: a number has no separators of thousands"
    return ""


_HABITS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"(?<!\S)([a-z]\w*)\s+([^\W\d]\w*(?:[-.]\w+)+)(?=\s*(?:\{|$))\s*\{?"),
        lambda found: f'a name with `-` or `.` is in quotes: write `{found[1]} "{found[2]}"`',
    ),
    (
        re.compile(r"\b([0-9]+):([0-5][0-9])\s*(h|min)\b"),
        lambda found: f"write `{60 * int(found[1]) + int(found[2])} {'min' if found[3] == 'h' else 's'}`",
    ),
    (
        re.compile(r"\bsubject\s+to\s+([^{}#\n]*?[<>=]=?[^{}#\n]*?)\s*(?=#|$)"),
        lambda found: f"write `subject to {{ {found[1]} }}`",
    ),
)
"""Lines of other notations, each with what to write: names with signs, hours with minutes, a single constraint."""


def of_habit(text: str, position: int) -> str:
    """Return the correction of a habit from other notations around a position of a text, or ""."""
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].split("\n", 1)[0]
    for pattern, hint in _HABITS:
        for found in pattern.finditer(line[:1000]):
            if found.start() <= position - start < max(found.end(), found.start() + 1):
                return hint(found)
    return ""


def comma_in_number(text: str, number: Token) -> tuple[str, str]:
    """Return the mistake and the correction if a comma joins two numbers at the start of a statement."""
    end = number.start_pos + len(number)
    before = text[max(0, end - 40) : end]
    thousands = _THOUSANDS.search(before)
    if thousands is not None:
        more = _MORE_THOUSANDS.match(text, end)
        digits = (thousands[0] + (more[0] if more is not None else "")).replace(",", "")
        return "a number has no separators of thousands", f"write `{digits}`: a comma ends an item"
    match = _DECIMAL_COMMA.search(before)
    if match is None:
        return "", ""
    return "a number has a point, not a comma", f"write `{match[1].replace('.', '')}.{match[2]}`: a comma ends an item"


def words_between(before: Token | None, at: Token, text: str) -> str:
    """Return the correction of words after a finished value: `9 to 10`, `USD 0.192` and `USD per h`."""
    if before is None:
        return ""
    line = text[text.rfind("\n", 0, at.start_pos) + 1 : at.start_pos]
    if at.type == "NUMBER" and before in _RANGE_WORDS:
        low = _AMOUNT_BEFORE.search(line[: line.rfind(before)])
        return f"a range is written `{low[1]}..{at}`" if low is not None else ""
    if at.type == "NUMBER" and before in units.CURRENCIES:
        return f"write `{at} {before}`"
    if at == "per" and before in units.UNITS:
        return f"write `{before}/` and the unit of time"
    return ""


def dash_range(node: Any) -> str:
    """Return the range for a difference of two numbers that was meant as one."""
    match node:
        case tree.Sum((tree.Number() as low, "-", tree.Number() as high)):
            return f"a range is written `{_written(low)}..{_written(high)}`"
    return ""


def lacking_unit(key: str, item: Item, node: Any, found: units.Dimension, currency: str) -> str:
    """For a number without its unit, or a price without its time: the number with it."""
    if not isinstance(node, tree.Number):
        return ""
    kind = units.KINDS[item.kind]
    if item.kind == "price" and found == units.MONEY:
        return f"say for how long it is paid, such as `{key} = {_written(node)}/h`"
    if found != units.NUMBER or node.unit is not None:
        return ""
    written = f"`{key} = {node.token} {kind.shown_in(currency)}`".replace(" 1/", "/")
    if item.share_of:
        return f"write `{key} = {node.token}%` for a share of `{item.share_of}`, or {written}"
    return f"give it a unit, such as {written}"


def _written(node: tree.Number) -> str:
    return str(node.token) if node.unit is None else f"{node.token} {node.unit}"


_NAME = re.compile(r"[^\W\d]\w*")


def name_text(word: str) -> str:
    """Return a name as a spec has it: in quotes if it is not a word of the grammar."""
    return word if _NAME.fullmatch(word) else quoted(word)


def quoted(text: str) -> str:
    """Return a text in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def float_text(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
