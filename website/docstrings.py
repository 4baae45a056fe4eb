"""Docstrings as Markdown: names in roles, as ``:func:`solve```, become code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":[a-z]+:`~?(?:mrdsl\.)?([^`]+)`")


class RolesAsCode(griffe.Extension):
    """Turns the roles of every docstring that is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
