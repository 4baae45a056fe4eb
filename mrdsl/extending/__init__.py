"""Plug-ins: templates, and the contracts that they and mrdsl's own parts must meet."""
