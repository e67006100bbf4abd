# Writes where others work, and where its engine keeps what it runs.
# expect: finished
# gives: 0
written=0
for path in ../0/x ../2/x ../x ../../x ../../jobs/x /tmp/x /dev/shm/x /var/tmp/x /proc/sys/kernel/hostname; do
  (: >"$path") 2>/dev/null && ((written++))
done
echo $written >&3
