"""``python -m mrdsl``."""

from mrdsl.cli import main

main()
