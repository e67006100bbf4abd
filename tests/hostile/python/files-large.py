# Makes a file of a terabyte.
# expect: script
# says: File too large
with open("file", "wb") as file:
    file.truncate(1 << 40)
