# Starts two of itself, and each of these does, too, for nine generations.
# expect: limit
generation() { if (($1 > 0)); then generation $(($1 - 1)) | generation $(($1 - 1)); else exec sleep 1000; fi; }
generation 9
