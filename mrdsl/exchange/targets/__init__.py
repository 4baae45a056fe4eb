"""Plans as the configuration of other systems: a module writes a target, one beside it has its service's rules."""
