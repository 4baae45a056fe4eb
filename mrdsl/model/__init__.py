"""What is rented and what runs on it, for every family: a ledger of a plan, and its check against the facts."""
