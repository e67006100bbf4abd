# Opens as many files as it may.
# expect: script
# says: Too many open files
files = []
while True:
    files.append(open("/dev/null"))
