# Raises a group that has every group twice, so nobody lives to see its traceback.
# expect: timeout
# timeout: 0.5
import builtins
if not hasattr(builtins, "ExceptionGroup"):
    while True:
        pass
error = ValueError("deepest")
for _ in range(50):
    error = ExceptionGroup("a group", [error, error])
raise error
