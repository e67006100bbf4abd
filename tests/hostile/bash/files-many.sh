# Leaves ten thousand files, however slow the disk is.
# expect: finished
# timeout: 110
for d in {1..10}; do mkdir "$d"; for n in {1..1000}; do : > "$d/$n"; done; done
