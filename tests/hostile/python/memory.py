# Wants all memory there is.
# expect: script
# says: MemoryError
kept = []
while True:
    kept.append(bytearray(10_000_000))
