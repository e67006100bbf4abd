"""The connection: asyncio in either face. The sync one has it run in a thread."""
