# Has an expression try all ways there are.
# expect: timeout
# timeout: 0.5
import re
re.match(r"(a+)+$", "a" * 64 + "b")
