"""``import "file"``: the statements of shared catalogues, put where the import stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Related, error
from mrdsl.core.regular_files import shown_name
from mrdsl.exchange.text import read_document
from mrdsl.language import tree
from mrdsl.language.items import Files, outside_error
from mrdsl.language.parsing import parse
from mrdsl.language.scope import MistakeError, Report, Scope

NO_PARAMETERS = ("problem", "minimize", "maximize", "estimate", "solve")


@dataclass
class Importer:
    """Collects the statements of a document and of all that it imports; ``names`` grows by a file each.

    A file is read once: where it is imported again, what it says is there already.
    """

    files: Files
    report: Report
    names: list[str]
    texts: dict[str, str] = field(default_factory=dict)
    seen: set[Path] = field(default_factory=set)

    def expand(self, statements: tuple[Any, ...], folder: Path, chain: tuple[Path, ...]) -> list[Any]:
        """The statements with every import replaced by what it brings."""
        out: list[Any] = []
        for statement in tree.unfolded(statements, ("import",)):
            if isinstance(statement, tree.Block) and statement.words[0] == "import":
                out.extend(self._import(statement, folder, chain))
            else:
                out.append(statement)
        return out

    def _import(self, statement: tree.Block, folder: Path, chain: tuple[Path, ...]) -> list[Any]:
        scope = Scope(tree.FileNames(tuple(self.names)), self.report, lambda _: None)
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
                cycle = " -> ".join(p.name for p in (*chain[chain.index(path) :], path))
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
                    "put what is shared into fewer files",
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
        index = len(self.names)
        self.names.append(shown)
        tree.shift_lines(document.statements, index)
        kept = [s for s in document.statements if not self._forbidden(s)]
        return self.expand(tuple(kept), path.parent, (*chain, path))

    def _forbidden(self, statement: Any) -> bool:
        if not isinstance(statement, tree.Block | tree.Goal) or str(statement.words[0]) not in NO_PARAMETERS:
            return False
        scope = Scope(tree.FileNames(tuple(self.names)), self.report, lambda _: None)
        self.report.add(
            error(
                "wrong-statement",
                f"an imported file cannot say `{statement.words[0]}`",
                scope.span(statement.words[0]),
                "move this line into the spec itself",
            )
        )
        return True


def _inside(files: Files, written: str, node: Any, scope: Scope, root: Path) -> Path:
    """The imported file, which lies below the spec's own folder."""
    if not files.resolved(written, node, scope).is_relative_to(root.resolve()):
        raise outside_error(written, node, scope)
    return Files(files.folder, outside=True, found=files.found).find(written, node, scope)
