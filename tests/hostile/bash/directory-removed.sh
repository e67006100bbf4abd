# Removes the directory that it works in, with everything in it.
# expect: finished
rm -rf "$PWD" 2>/dev/null
rm -rf ../* 2>/dev/null
cd / 2>/dev/null
echo 1 >&3
