# Raises an error whose text is fifty megabytes long.
# expect: script
raise ValueError("x" * 50_000_000)
