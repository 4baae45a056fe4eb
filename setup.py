"""Carries the data folders that lie beside the package into wheels; all else stands in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("grammar", "models", "solvers")


class BuildWithData(build_py):
    """Copies the data folders to ``mrdsl/data`` of a wheel; an editable install reads them in place."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for name in FOLDERS:
                shutil.copytree(name, Path(self.build_lib, "mrdsl", "data", name), dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithData})
