"""The solver my-milp; ``DECLARED`` is the file that its entry point names."""

from pathlib import Path

DECLARED = Path(__file__).with_name("my-milp.toml")
