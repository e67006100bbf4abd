# Computes a power for hours in one instruction.
# expect: timeout
# timeout: 0.5
10 ** 10 ** 8
