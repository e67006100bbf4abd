# Raises an error of syntax with a place that is none.
# expect: script
# says: SyntaxError: mine
raise SyntaxError("mine", ("script.py", -(10**30), "x", ""))
