"""Exports of plans to other systems: one module per target, with the rules of its service."""
