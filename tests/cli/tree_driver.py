"""Runs commands one after the other in this process and prints what each changed in the folder it stands in."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import stat
import sys
from pathlib import Path

from mrdsl.cli import cli
from mrdsl.cli.boundary import run


def seen(root: Path) -> dict[str, tuple[object, ...]]:
    """Every name below a folder with type, mode, owner, links and, but for folders, time and bytes."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            own = (status.st_mode, status.st_uid, status.st_gid)
            if stat.S_ISREG(status.st_mode):
                data = hashlib.sha256(Path(path).read_bytes()).hexdigest() if os.access(path, os.R_OK) else ""
                own = (*own, status.st_ino, status.st_nlink, status.st_mtime_ns, data)
            elif stat.S_ISLNK(status.st_mode):
                own = (*own, os.readlink(path))
            found[os.path.relpath(path, root)] = own
    return found


def main() -> None:
    """Commands as JSON on standard input; on standard output a list of exit codes and changed names."""
    told = []
    for command in json.load(sys.stdin):
        before = seen(Path())
        sys.argv = ["mrdsl", *command]
        said, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            code = run(cli)
        after = seen(Path())
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        told.append({"code": code, "changed": changed, "said": said.getvalue()})
    print(json.dumps(told))


if __name__ == "__main__":
    main()
