"""Editor support that needs a library of its own: the language server."""
