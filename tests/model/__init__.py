"""The market and the ledger, for every family that rents."""
