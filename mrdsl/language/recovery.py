"""Recovery from syntax errors: a second, slower parse that continues after each mistake to report all of them.

It feeds the same LALR automaton token by token. At an unexpected token it skips the rest of the statement and cuts the
stack back to a place that can end a statement. A statement that starts no further right than its block shows that the
closing brace of the block is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from lark import Lark, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from mrdsl.core.budgets import NESTING
from mrdsl.core.diagnostics import Diagnostic, Related, Span, error
from mrdsl.core.resources import resource_text
from mrdsl.language import tree
from mrdsl.language.tree import Source, Token
from mrdsl.language.vocabulary import comma_in_number, money_sign, of_habit, thousands_apart, words_between


class TreeBuilder(Transformer):  # type: ignore[type-arg]
    """Builds the nodes while the parser runs; no Lark tree is ever made."""

    def word(self, children: list[Any]) -> Any:
        return children[0]

    def number(self, children: list[Any]) -> Any:
        return tree.Number(children[0], None)

    def quantity(self, children: list[Any]) -> Any:
        return tree.Number(children[0], children[1])

    share = quantity

    def name(self, children: list[Any]) -> Any:
        return tree.Name(children[0])

    def clock(self, children: list[Any]) -> Any:
        return tree.Clock(children[0])

    def string(self, children: list[Any]) -> Any:
        return tree.Text(children[0])

    def call(self, children: list[Any]) -> Any:
        return tree.Call(children[0], tuple(children[2:-1]), children[-1])

    def listing(self, children: list[Any]) -> Any:
        return tree.List(children[0], tuple(children[1:-1]), children[-1])

    def group(self, children: list[Any]) -> Any:
        return tree.Group(children[0], children[1], children[2])

    def signed(self, children: list[Any]) -> Any:
        return tree.Signed(children[0], children[1])

    def total(self, children: list[Any]) -> Any:
        return tree.Sum(tuple(children))

    def product(self, children: list[Any]) -> Any:
        return tree.Product(tuple(children))

    def interval(self, children: list[Any]) -> Any:
        return tree.Interval(children[0], children[1])

    def index(self, children: list[Any]) -> Any:
        return tree.Index(children[0], children[1], children[2], children[3])

    def comparison(self, children: list[Any]) -> Any:
        return tree.Comparison(children[0], str(children[1]), children[2])

    def equation(self, children: list[Any]) -> Any:
        return tree.Comparison(children[0], "=", children[1])

    def assignment(self, children: list[Any]) -> Any:
        return tree.Assignment(tuple(children[:-1]), children[-1])

    def goal(self, children: list[Any]) -> Any:
        return tree.Goal((children[0],), children[1])

    def directive(self, children: list[Any]) -> Any:
        return _block(children, None, None, None)

    def braced(self, children: list[Any]) -> Any:
        opening = next(i for i, child in enumerate(children) if getattr(child, "type", "") == "LBRACE")
        return _block(children[:opening], children[opening], tuple(children[opening + 1 : -1]), children[-1])

    def document(self, children: list[Any]) -> Any:
        return tuple(children)


def _block(header: list[Any], opening: Any, statements: Any, closing: Any) -> tree.Block:
    call = index = None
    if header[-1].__class__ is tree.Call:
        call = header[-1]
        header = header[:-1]
    for position, part in enumerate(header):
        if part.__class__ is tree.Index:
            index = part
            return tree.Block(
                tuple(header[:position]), index, tuple(header[position + 1 :]), call, opening, statements, closing
            )
    return tree.Block(tuple(header), None, (), call, opening, statements, closing)


@cache
def grammar() -> Lark:
    """Return the parser of ``grammar/mrspec.lark``."""
    return Lark(
        resource_text("grammar/mrspec.lark"),
        parser="lalr",
        lexer="basic",
        start=["document", "expression"],
        maybe_placeholders=False,
        transformer=TreeBuilder(),
    )


MAX_SYNTAX_ERRORS = 50
_ITEM_STARTS = ("EQUAL", "LBRACE", "NAME", "STRING", "NUMBER", "CLOCK")

_VALUE = frozenset({"NAME", "NUMBER", "CLOCK", "STRING", "LPAREN", "LBRACKET", "SUM_SIGN"})
_WORDS = {
    "value": "a value",
    "NAME": "a name",
    "NUMBER": "a number",
    "CLOCK": "a clock time",
    "STRING": "a quoted text",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LBRACKET": "`[`",
    "RBRACKET": "`]`",
    "LPAREN": "`(`",
    "RPAREN": "`)`",
    "EQUAL": "`=`",
    "COMMA": "`,`",
    "_NEWLINE": "the end of the line",
    "$END": "the end of the file",
    "SUM_SIGN": "`+` or `-`",
    "PRODUCT_SIGN": "`*` or `/`",
    "COMPARISON": "`<=`, `>=` or `==`",
    "PERCENT": "`%`",
}


_CHARACTER_HINTS = {
    ".": "write a digit on both sides of a decimal point, such as `0.5` or `5.0`; a range is `lo .. hi`",
    "'": 'quote with `"`',
    ";": "end an item with a newline or a comma",
    ":": "write `name = value`",
    "<": "write `<=`",
    ">": "write `>=`",
}
_OTHER_DIGIT = "write numbers with the digits 0 to 9"
_NO_CHARACTER = "remove it; quote names that are not identifiers"


def parse_with_errors(text: str, file: str) -> tuple[tree.Document, tuple[Diagnostic, ...]]:
    """Return the tree of what could be understood, and a diagnostic for every place that could not."""
    run = _Recovery(text, file)
    return tree.Document(file, text, run.statements()), tuple(run.found)


class _Recovery:
    """One run of the recovering parser."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.source = Source(text, file, valid=False)
        self.found: list[Diagnostic] = []
        self.open_blocks: list[tuple[Token, Token]] = []
        self.open_brackets: list[Token] = []
        self.statement_start: Token | None = None
        self.previous: Token | None = None
        self.gave_up = False
        self.parser: Any = grammar().parse_interactive("", start="document")

    def statements(self) -> tuple[tree.Statement, ...]:
        tokens = self._tokens()
        at_start = True
        for token in tokens:
            if len(self.found) >= MAX_SYNTAX_ERRORS:
                self.gave_up = True
                break
            if at_start and not self.open_brackets and token.type not in ("_NEWLINE", "COMMA", "RBRACE"):
                self._close_blocks_left_open(token)
                self.statement_start = token
            at_start = self._feed(token, tokens)
        return self._finish()

    def _feed(self, token: Token, tokens: Iterator[Token]) -> bool:
        """Feed one token, or recover; return True if the next token starts a statement."""
        if token.type == "RBRACE" and not self.open_blocks:
            self._report("unexpected-brace", "this `}` closes nothing", token, "remove it, or open its block with `{`")
            return True
        try:
            self.parser.feed_token(token)
        except UnexpectedToken:
            return self._skip_statement(token, tokens)
        self._remember(token)
        return token.type in ("_NEWLINE", "COMMA", "LBRACE", "RBRACE")

    def _remember(self, token: Token) -> None:
        if token.type == "LBRACE":
            self.open_blocks.append((self.statement_start or token, token))
        elif token.type == "RBRACE":
            self.open_blocks.pop()
        if token.type != "_NEWLINE":
            self.previous = token

    def _skip_statement(self, token: Token, tokens: Iterator[Token]) -> bool:
        self._explain(token)
        depth = 0
        following: Token | None = token
        while following is not None:
            if following.type == "LBRACE":
                depth += 1
            elif following.type == "RBRACE":
                if depth == 0 and self.open_blocks:
                    break
                depth = max(0, depth - 1)
            elif following.type == "_NEWLINE" and depth == 0:
                break
            self.previous = following
            following = next(tokens, None)
        if following is None:
            return True
        self._cut_back(following)
        self._remember(following)
        return True

    def _cut_back(self, token: Token) -> None:
        """Drop half-parsed pieces until the automaton takes the token."""
        state = self.parser.parser_state
        while len(state.state_stack) > 1:
            if token.type in self.parser.accepts():
                self.parser.feed_token(token)
                return
            state.state_stack.pop()
            state.value_stack.pop()

    def _close_blocks_left_open(self, token: Token) -> None:
        while self.open_blocks:
            opener, brace = self.open_blocks[-1]
            indented = token.column > opener.column
            if indented or token.line == brace.line or not self._is_first_in_line(opener):
                return
            self._report_unclosed(opener, brace, f"before line {token.line}")
            self._close(token)

    def _close(self, at: Token) -> None:
        closing = Token.of(str(at), "RBRACE", at.start_pos, self.source)
        self._cut_back(closing)
        self.open_blocks.pop()

    def _is_first_in_line(self, token: Token) -> bool:
        start = token.start_pos
        return not self.text[self.text.rfind("\n", 0, start) + 1 : start].strip()

    def _finish(self) -> tuple[tree.Statement, ...]:
        end = Token.of("", "$END", self.previous.end_pos if self.previous is not None else 0, self.source)
        if self.found and len(self.found) >= MAX_SYNTAX_ERRORS:
            last = self.found[-1].span
            self.found.append(
                error(
                    "syntax",
                    f"more than {MAX_SYNTAX_ERRORS} syntax errors: the rest was not read",
                    last,
                    "correct these first, then check again",
                )
            )
        while self.open_blocks:
            opener, brace = self.open_blocks[-1]
            if not self.gave_up:
                self._report_unclosed(opener, brace, "before the end of the file")
            self._close(end)
        state = self.parser.parser_state
        while len(state.state_stack) > 1:
            try:
                return tuple(self.parser.feed_token(end))
            except UnexpectedToken:
                if not self.found:
                    self._explain(end)
                state.state_stack.pop()
                state.value_stack.pop()
        return ()

    def _tokens(self) -> Iterator[Token]:
        """Yield the tokens of the text without the newlines inside brackets."""
        signs, previous = 0, ""
        for token in self._raw_tokens():
            if token.type == "_NEWLINE" and self.open_brackets:
                continue
            if token.type == "COMMA" and not self.open_brackets:
                token.type = "_NEWLINE"
            if token.type in ("LPAREN", "LBRACKET"):
                self.open_brackets.append(token)
            elif token.type in ("RPAREN", "RBRACKET"):
                self.open_brackets = self.open_brackets[:-1]
            signs = self._signs_before_signs(token, signs, previous)
            previous = token.type
            if max(len(self.open_brackets), len(self.open_blocks) + 1, signs) > NESTING:
                self._report(
                    "nested-too-deeply",
                    f"{'signs' if signs > NESTING else 'brackets or blocks'} are nested deeper than {NESTING} levels",
                    token,
                    "name the inner parts with `param`; the rest of the file was not read",
                )
                self.open_brackets = []
                self.gave_up = True
                return
            yield token
            if token.type in ("LBRACE", "RBRACE"):
                self.open_brackets = []

    @staticmethod
    def _signs_before_signs(token: Token, signs: int, previous: str) -> int:
        """Return the number of signs of the statement so far that precede another sign, as in ``- - 1``."""
        if token.type == "_NEWLINE":
            return 0
        return signs + (token.type == previous == "SUM_SIGN")

    def _raw_tokens(self) -> Iterator[Token]:
        """Yield the tokens of the text; report text that starts no token, and skip or correct it."""
        thread = grammar().parse_interactive(self.text, start="document").lexer_thread
        raw: Any = getattr(thread.lexer, "lexer", thread.lexer)
        state: Any = thread.state
        bad_line = 0
        while True:
            try:
                read = raw.next_token(state, self.parser.parser_state)
                yield Token.of(str(read), read.type, read.start_pos, self.source)
            except UnexpectedCharacters:
                position, line, column = state.line_ctr.char_pos, state.line_ctr.line, state.line_ctr.column
                bad = self._explain_character(position, line, column, line == bad_line)
                bad_line = line
                state.line_ctr.feed(bad)
                if bad[0] == '"':
                    yield Token.of(bad + '"', "STRING", position, self.source)
            except EOFError:
                return

    def _explain_character(self, position: int, line: int, column: int, again: bool) -> str:
        """Report text that starts no token, once a line, and return the stretch to skip."""
        character = self.text[position]
        if character == '"':
            end = self.text.find("\n", position)
            rest = self.text[position : end if end >= 0 else len(self.text)].rstrip("\r")
            span = Span(self.file, line, column, line, column + len(rest))
            self.found.append(
                error(
                    "unclosed-text",
                    "this text has no closing quote",
                    span,
                    'write a `"` at its end; a text stays on one line',
                )
            )
            return rest
        if not again:
            shown = character if character.isprintable() else f"U+{ord(character):04X}"
            self.found.append(
                error(
                    "unexpected-character",
                    f"`{shown}` is not valid here",
                    Span(self.file, line, column, line, column + 1),
                    of_habit(self.text, position)
                    or money_sign(self.text, position)
                    or thousands_apart(self.text, position)
                    or _CHARACTER_HINTS.get(character, _OTHER_DIGIT if character.isdecimal() else _NO_CHARACTER),
                )
            )
        return character

    def _explain(self, token: Token) -> None:
        last = self.found[-1] if self.found else None
        if last is not None and last.code == "unexpected-character" and last.span and last.span.line == token.line:
            return
        accepted = self.parser.accepts()
        if self.open_brackets and token.type in ("EQUAL", "LBRACE", "RBRACE", "$END", "_NEWLINE"):
            bracket = self.open_brackets[0]
            self._report(
                "unclosed-bracket",
                f"this `{bracket}` is never closed",
                bracket,
                "write its `)`" if bracket == "(" else "write its `]`",
            )
            self.open_brackets = []
            return
        if token.type == "$END":
            self._report(
                "syntax", "the file ends in the middle of a statement", token, f"expected {_listing(accepted)}"
            )
            return
        shown = _WORDS["_NEWLINE"] if token.type == "_NEWLINE" else f"`{_short(token)}`"
        previous = self.previous
        same_line = previous is not None and previous.line == token.line
        if token.type == "NUMBER" and "EQUAL" in accepted and previous is not None and same_line:
            self._report(
                "syntax",
                f"{shown} follows the name `{_short(previous)}` without a `=`",
                token,
                f"an item is `name = value`: write `{_short(previous)} = {_short(token)}`",
            )
        elif token.type == "EQUAL" and same_line and previous is not None and previous.type == "NAME":
            self._report(
                "missing-comma",
                f"`{_short(previous)}` follows an item that has not ended",
                previous,
                f"put a comma or a new line before `{_short(previous)}`",
            )
        elif token.type in _ITEM_STARTS and "_NEWLINE" in accepted and not self.open_brackets and same_line:
            self._report(
                "missing-comma",
                f"{shown} follows an item that has not ended",
                token,
                of_habit(self.text, token.start_pos)
                or words_between(previous, token, self.text)
                or thousands_apart(self.text, token.start_pos)
                or "put a comma or a new line between two items",
            )
        elif token.type == "LBRACE":
            self._report(
                "unexpected-brace",
                "this `{` opens no block",
                token,
                "a block is words and `{` on one line: `class sort {`",
            )
        else:
            self._explain_unexpected(token, shown, accepted)

    def _explain_unexpected(self, token: Token, shown: str, accepted: set[str]) -> None:
        start = self.statement_start
        wrong, hint = "", ""
        if start is not None and start.type == "NUMBER":
            wrong, hint = comma_in_number(self.text, start)
        if wrong and start is not None:
            self._report("syntax", wrong, start, hint)
        else:
            hint = of_habit(self.text, token.start_pos) or f"expected {_listing(accepted)}"
            self._report("syntax", f"{shown} is not allowed here", token, hint)

    def _report_unclosed(self, opener: Token, brace: Token, where: str) -> None:
        name = _short(self.text[opener.start_pos : brace.start_pos].strip())
        self._report(
            "unclosed-block",
            f"the block `{name}` is not closed {where}",
            brace,
            "write its `}`",
            Related("the block starts here", self._span(opener)),
        )

    def _report(self, code: str, message: str, token: Token, hint: str, *related: Related) -> None:
        self.found.append(error(code, message, self._span(token), hint, *related))

    def _span(self, token: Token) -> Span:
        line, column = token.line, token.column
        written = self.text[token.start_pos : token.end_pos].rstrip("\r\n")
        width = 1 if token.type in ("_NEWLINE", "$END") else len(written)
        return Span(self.file, line, column, line, column + width)


def _short(token: str) -> str:
    return token if len(token) <= 40 else token[:37] + "..."


def _listing(accepted: set[str]) -> str:
    if accepted >= _VALUE:
        accepted = accepted - _VALUE | {"value"}
    order = [word for kind, word in _WORDS.items() if kind in accepted and kind != "COMMA"]
    if not order:
        return "something else"
    return order[0] if len(order) == 1 else ", ".join(order[:-1]) + " or " + order[-1]
