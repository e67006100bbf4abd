# Raises an error that ends the process when somebody wants its text.
# expect: script
# says: its text cannot be made
class Mine(Exception):
    def __str__(self):
        raise SystemExit(0)
raise Mine
