"""Compare mrdsl with the oracle: ``python -m tests.families.capacity.oracle 300``."""

from tests.families.capacity.oracle.comparing import main

main()
