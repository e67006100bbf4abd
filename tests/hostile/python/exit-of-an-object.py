# Ends with an object that cannot be printed.
# expect: script
# says: exit code 1
class Mine:
    def __str__(self):
        raise SystemExit(0)
raise SystemExit(Mine())
