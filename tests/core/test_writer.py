"""Files whole and with what they had, devices and pipes written through, nothing lost where the system refuses."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mrdsl.core import writer as files
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.writer import Together, claimed, write_text

ROOT = Path(__file__).resolve().parents[2]
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes, links, devices and pipes are POSIX's")


def codes(problem: pytest.ExceptionInfo[MrdslError]) -> list[str]:
    return [each.code for each in problem.value.diagnostics]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """In a process of its own where the tests run as root: there, nothing is read-only."""
    if not AS_ROOT:
        yield
        return
    for above in (folder, *folder.parents):
        if above != folder and not above.stat().st_mode & stat.S_IXGRP:
            above.chmod(above.stat().st_mode | 0o055)  # root's group is still nobody's here
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "x", "a\r\nb\n")
    finally:
        os.umask(before)
    assert (tmp_path / "x").read_bytes() == b"a\r\nb\n"
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640
    assert names(tmp_path) == ["x"]


def test_a_file_that_is_there_needs_force(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old", encoding="utf-8")
    with pytest.raises(MrdslError) as problem:
        write_text(tmp_path / "x", "new")
    assert codes(problem) == ["file-exists"]
    assert (tmp_path / "x").read_text(encoding="utf-8") == "old"
    write_text(tmp_path / "x", "new", force=True)
    assert (tmp_path / "x").read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o660])
def test_mode_and_owner_are_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    owner = (12345, 54321) if AS_ROOT else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    write_text(path, "new", force=True)
    found = path.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (mode, *owner)
    assert path.read_text(encoding="utf-8") == "new"


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "x"
    target.write_text("old", encoding="utf-8")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("real/x")
    write_text(tmp_path / "first", "new", force=True)
    assert target.read_text(encoding="utf-8") == "new"
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    (tmp_path / "dangling").symlink_to("real/y")
    write_text(tmp_path / "dangling", "there now")
    assert (tmp_path / "real" / "y").read_text(encoding="utf-8") == "there now"
    assert names(tmp_path / "real") == ["x", "y"]


def test_hard_links_stay_together(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a longer text than the new one", encoding="utf-8")
    os.link(tmp_path / "x", tmp_path / "y")
    write_text(tmp_path / "x", "new", force=True)
    assert (tmp_path / "y").read_text(encoding="utf-8") == "new"
    assert (tmp_path / "x").samefile(tmp_path / "y")


def test_a_loop_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(MrdslError) as problem:
        write_text(tmp_path / "a", "x", force=True)
    assert codes(problem) == ["unwritable-file"]


@pytest.mark.parametrize("force", [False, True])
def test_a_terminal_is_written_through(tmp_path: Path, force: bool) -> None:
    primary, secondary = os.openpty()
    try:
        path = Path(os.ttyname(secondary))
        before = path.stat()
        write_text(path, "said", force=force)
        assert os.read(primary, 100) == b"said"
        after = path.stat()
        assert stat.S_ISCHR(after.st_mode)
        assert (before.st_ino, before.st_rdev, before.st_mode) == (after.st_ino, after.st_rdev, after.st_mode)
    finally:
        os.close(primary)
        os.close(secondary)


@pytest.mark.skipif(not AS_ROOT, reason="only root makes devices")
def test_roots_devices_stay_devices(tmp_path: Path) -> None:
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this root makes no devices")
    write_text(path, "gone")
    assert stat.S_ISCHR(path.stat().st_mode)
    assert names(tmp_path) == ["null"]


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join(10)
    assert said == [b"through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_is_written_through(tmp_path: Path, name: str) -> None:
    """Also where it is a file: its descriptor is written to, the file is not replaced under the shell."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    line = (
        f"from pathlib import Path; from mrdsl.core.writer import write_text; print(1);write_text(Path({name!r}), 'x')"
    )
    target = tmp_path / "out"
    with target.open("w", encoding="utf-8") as out:
        done = subprocess.run(
            [sys.executable, "-c", line],
            stdout=out,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert target.samefile(f"/proc/self/fd/{out.fileno()}")
    assert target.read_text(encoding="utf-8") == "1\nx"


def test_a_folder_that_is_read_only_or_missing(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(0o555)
    with as_nobody(tmp_path / "closed"):
        for path in (tmp_path / "closed" / "x", tmp_path / "missing" / "x", tmp_path / "closed"):
            with pytest.raises(MrdslError) as problem:
                write_text(path, "new")
            assert codes(problem) == ["unwritable-file"], path
    assert names(tmp_path) == ["closed"]


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    """Its folder takes files, so a rename would go through; the mode says that its owner wants it kept."""
    tmp_path.chmod(0o777)
    with as_nobody(tmp_path):
        (tmp_path / "kept").write_text("old", encoding="utf-8")
        (tmp_path / "kept").chmod(0o444)
        with pytest.raises(MrdslError) as problem:
            write_text(tmp_path / "kept", "new", force=True)
    assert codes(problem) == ["unwritable-file"]
    assert (tmp_path / "kept").read_text(encoding="utf-8") == "old"


def test_a_writable_file_in_a_folder_that_takes_none(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "x").write_text("old", encoding="utf-8")
    (folder / "x").chmod(0o666)
    folder.chmod(0o555)
    with as_nobody(folder):
        write_text(folder / "x", "new", force=True)
    assert (folder / "x").read_text(encoding="utf-8") == "new"
    folder.chmod(0o755)


@pytest.mark.parametrize("hard_link", [False, True])
def test_a_full_disk_loses_nothing(tmp_path: Path, hard_link: bool) -> None:
    """A limit on the size of files stands in for the disk; it refuses in the midst of writing, as a disk does."""
    (tmp_path / "x").write_text("old", encoding="utf-8")
    if hard_link:
        os.link(tmp_path / "x", tmp_path / "y")
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "from pathlib import Path; from mrdsl.core.diagnostics import MrdslError;"
        "from mrdsl.core.writer import write_text\n"
        "try:\n  write_text(Path('x'), 'n' * 200_000, force=True)\n"
        "except MrdslError as problem:\n  print(problem)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert "error[unwritable-file]: `x` cannot be written: File too large" in done.stdout
    assert (tmp_path / "x").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == (["x", "y"] if hard_link else ["x"])


def test_in_place_the_old_bytes_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up after the first half of a file with two names."""
    (tmp_path / "x").write_text("old bytes", encoding="utf-8")
    os.link(tmp_path / "x", tmp_path / "y")
    sound, calls = files._overwrite, iter(range(9))

    def half(file: object, source: object) -> None:
        if next(calls) == 0:
            file.write(b"new"), file.truncate()  # type: ignore[attr-defined]
            raise OSError(28, "No space left on device")
        sound(file, source)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "_overwrite", half)
    with pytest.raises(MrdslError, match="No space left"):
        write_text(tmp_path / "x", "new bytes", force=True)
    assert (tmp_path / "y").read_text(encoding="utf-8") == "old bytes"


def test_a_set_of_files_appears_together_or_not_at_all(tmp_path: Path) -> None:
    def write(*wanted: str, between: Callable[[], object] = lambda: None) -> None:
        with Together() as together:
            for name in wanted:
                with together.text(tmp_path / name) as stream:
                    stream.write(name)
            between()

    def interrupted() -> None:
        raise ValueError("in the midst")

    with pytest.raises(ValueError, match="midst"):
        write("a", between=interrupted)
    assert names(tmp_path) == []
    (tmp_path / "b").write_text("old", encoding="utf-8")
    with pytest.raises(MrdslError):
        write("a", "b")
    assert names(tmp_path) == ["b"]
    with pytest.raises(MrdslError) as problem:
        write("c", "d", between=lambda: (tmp_path / "d").write_text("came in between", encoding="utf-8"))
    assert codes(problem) == ["file-exists"]
    assert names(tmp_path) == ["b", "d"]


def test_runs_into_one_name_leave_the_whole_of_one(tmp_path: Path) -> None:
    def write(letter: str) -> None:
        for _ in range(30):
            with Together(force=True) as together:
                for name in ("x", "y"):
                    with together.text(tmp_path / name) as stream:
                        stream.write(letter * 100_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    x, y = ((tmp_path / name).read_text(encoding="utf-8") for name in ("x", "y"))
    assert x == y
    assert len(x) == 100_000
    assert len(set(x)) == 1
    assert names(tmp_path) == ["x", "y"]


def test_a_folder_is_filled_by_one_run(tmp_path: Path) -> None:
    with claimed(tmp_path / "study"):
        with pytest.raises(MrdslError) as problem, claimed(tmp_path / "study"):
            pass
        assert codes(problem) == ["busy-output"]
    assert names(tmp_path / "study") == []
    with claimed(tmp_path / "study"):
        pass


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_that_nobody_reads_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread: to open such a pipe to write waits for ever."""
    monkeypatch.setattr(files, "READER_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    told: list[MrdslError] = []

    def write() -> None:
        try:
            write_text(tmp_path / "pipe", "unread")
        except MrdslError as refused:
            told.append(refused)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(30)
    assert not writer.is_alive()
    (diagnostic,) = told[0].diagnostics
    assert diagnostic.code == "unwritable-file"
    assert "no program reads this pipe" in diagnostic.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_takes_more_than_it_holds(tmp_path: Path) -> None:
    """A pipe holds 64 kB: what is written waits for the reader then, and is not lost."""
    os.mkfifo(tmp_path / "pipe")
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_text(tmp_path / "pipe", "x" * 1_000_000)
    reader.join(30)
    assert [len(each) for each in said] == [1_000_000]
