"""Editor support: completion, meanings and places of words, the reference, the language server."""
