# Reads what other processes have in their memory and their environment.
# expect: finished
# gives: 0
found=0
for path in /proc/$PPID/{environ,mem,maps,fd/3,cwd/x,root/etc/passwd} /proc/1/environ; do
  head -c 1 "$path" >/dev/null 2>&1 && ((found++))
done
echo $found >&3
