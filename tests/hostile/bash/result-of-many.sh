# Gives half a million results.
# expect: finished or limit result
yes 1 | head -n 500000 >&3
