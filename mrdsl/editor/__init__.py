"""What an editor asks: completion, meanings and places of words, the reference, the language server."""
