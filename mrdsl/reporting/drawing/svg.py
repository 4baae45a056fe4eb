"""SVG as text: elements with escaped attributes, numbers of fixed form, and the document around them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape as escape_markup

from mrdsl.core.printable import printable

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK, SOFT, GRID, PAPER = "#24292f", "#57606a", "#e4e7eb", "#ffffff"
PALETTE = ("#3b6fb6", "#d9822b", "#3f9b6a", "#b5495b", "#7a62a8", "#8a6d4b", "#3a9aa8", "#c264a0", "#8c8c2e", "#6b7785")


def escape(text: str, quote: bool = True) -> str:
    """Text as XML takes it: markup escaped; control characters, for which XML has no form, as printed escapes."""
    return escape_markup(printable(text), quote)


def number(value: float) -> str:
    """A coordinate with at most two decimals and no trailing zeros.

    >>> number(3.0), number(0.126), number(-0.001)
    ('3', '0.13', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(tag: str, *children: str, **attributes: str | float | None) -> str:
    """One element; ``stroke_width`` is written ``stroke-width``, None leaves an attribute out; children are markup."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value) if isinstance(value, str) else number(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def label(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 11,
    anchor: str = "start",
    fill: str = INK,
    weight: str | None = None,
    turned: bool = False,
) -> str:
    """A line of text whose anchor point is (x, y); ``turned`` writes it upwards."""
    turn = f"rotate(-90 {number(x)} {number(y)})" if turned else None
    return element(
        "text",
        escape(text, quote=False),
        x=x,
        y=y,
        font_size=size,
        text_anchor=anchor,
        fill=fill,
        font_weight=weight,
        transform=turn,
    )


def line(x1: float, y1: float, x2: float, y2: float, *, stroke: str = GRID, width: float = 1) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=width)


def text_width(text: str, size: float = 11) -> float:
    """About how wide a text is; wide enough for the fonts that viewers fall back to."""
    return len(text) * size * 0.6


def shortened(text: str, width: float, size: float = 11) -> str:
    """The text, cut with an ellipsis where it would not fit; "" where not even three letters do."""
    room = int(width / (size * 0.6))
    if len(text) <= room:
        return text
    return text[: room - 1] + "…" if room >= 4 else ""


def tooltip(text: str) -> str:
    """What a viewer shows while the pointer rests on the enclosing element."""
    return element("title", escape(text, quote=False))


def document(width: float, height: float, body: Iterable[str], title: str = "") -> str:
    """A whole file on white paper; ``title`` is its accessible name."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" font-family="{escape(FONT)}">'
    )
    named = [tooltip(title)] if title else []
    paper = element("rect", width=width, height=height, fill=PAPER)
    return "\n".join([head, *named, paper, *body, "</svg>"]) + "\n"


def colours(keys: Iterable[str]) -> dict[str, str]:
    """A colour per key, in the order of first appearance."""
    return {key: PALETTE[i % len(PALETTE)] for i, key in enumerate(dict.fromkeys(keys))}
