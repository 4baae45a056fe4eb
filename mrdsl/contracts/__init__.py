"""What a family, a pipeline and a study must be, and what holds them to `subject to`."""
