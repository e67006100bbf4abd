"""Generates code for each client from `openrpc.json`. `python3 -m generate` in `clients/` writes all of it."""
