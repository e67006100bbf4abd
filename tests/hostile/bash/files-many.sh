# Leaves ten thousand files.
# expect: finished
for d in {1..10}; do mkdir "$d"; for n in {1..1000}; do : > "$d/$n"; done; done
