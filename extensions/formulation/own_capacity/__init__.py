"""The formulation own-capacity; ``DECLARED`` is the file that its entry point names."""

from pathlib import Path

DECLARED = Path(__file__).with_name("own-capacity.toml")
