"""The connection. Both faces use asyncio; the sync face runs it in a thread."""
