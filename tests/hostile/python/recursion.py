# Calls itself for ever.
# expect: script
# says: RecursionError
def again():
    again()
again()
