# Raises a group in a group in a group, fifty times.
# expect: script
# says: Error
import builtins
if not hasattr(builtins, "ExceptionGroup"):
    raise RuntimeError("Error: this Python has none")
error = ValueError("deepest")
for _ in range(50):
    error = ExceptionGroup("Error in a group", [error])
raise error
