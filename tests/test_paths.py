"""Nothing in the repository names a place of one machine, and shared data are found by one function."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.sources import ROOT

#: A folder that differs by machine, at the root, with something below it or as a whole text.
PLACE = re.compile(r"(?<![\w.$}~-])(/(?:work(?:space)?|home|root|Users|mnt|media|tmp|var/tmp))(?:/[\w.{$*-]|[\"'`])")
WINDOWS = re.compile(r"\b[A-Za-z]:[\\/]{1,2}(?:Users|Documents|Temp)\b")
OWN_SHARED = re.compile(r"(?:\bparents?\b|\bROOT\b|\benviron\b|getenv).*[\"'](?:shared|MRDSL_SHARED)[\"']")

#: Folders that exist everywhere, by file: temporary ones of the system, and the volume of the container.
MEANT = {
    "mrdsl/core/guarded.py": {"/tmp", "/var/tmp"},
    "tests/core/test_no_temporary_folder.py": {"/tmp"},
    "docs/how-to/run-every-hour.md": {"/tmp", "/work"},
}
THIS = "tests/test_paths.py"


def texts() -> dict[str, str]:
    """Return each text file that git knows by its path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("the files of the repository are unknown: this is not a checkout of git")
    found = {}
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name and name != THIS and path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                found[name] = content.decode("utf-8", "replace")
    return found


def places(text: str) -> list[str]:
    """Return the places of one machine that a text names."""
    return [found[1] for found in PLACE.finditer(text)] + WINDOWS.findall(text)


def test_no_file_names_a_place_of_one_machine() -> None:
    for name, text in texts().items():
        for number, line in enumerate(text.splitlines(), 1):
            assert set(places(line)) <= MEANT.get(name, set()), f"{name}:{number}: {line.strip()[:200]}"


def test_shared_data_are_found_by_one_function() -> None:
    for name, text in texts().items():
        if name.endswith(".py") and name != "studies/shared_data.py":
            for number, line in enumerate(text.splitlines(), 1):
                assert not OWN_SHARED.search(line), f"{name}:{number}: use tests/shared_data.py: {line.strip()[:200]}"


@pytest.mark.parametrize(
    "line",
    [
        'DATA = Path("/work/shared/data/spark")',
        'DATA = Path("/work") / "shared"',
        "file:///tmp/a.mrspec",
        "cd /home/ada/night && mrdsl solve night.mrspec",
        "f'/root/{name}'",
        "PATH=bin:/Users/ada/bin",
        "at C:\\Users\\ada",
    ],
)
def test_places_of_one_machine_are_found(line: str) -> None:
    assert places(line)


@pytest.mark.parametrize(
    "line",
    ["models/work/a.csv", "/srv/plan/.venv", "https://example.org/home/a", "tmp_path / 'tmp'", "f'{folder}/tmp/a'"],
)
def test_other_paths_are_not(line: str) -> None:
    assert not places(line)


def test_own_ways_to_shared_data_are_found() -> None:
    assert OWN_SHARED.search('SHARED = Path(os.environ.get("MRDSL_SHARED", ROOT.parent / "shared"))')
    assert OWN_SHARED.search('SPECS = Path(__file__).resolve().parents[3] / "shared" / "specs"')
    assert not OWN_SHARED.search('(tmp_path / "shared").mkdir()')
