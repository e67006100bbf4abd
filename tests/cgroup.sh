#!/usr/bin/env bash
# Tries the control groups of supervisors with the controllers memory and pids, which a machine with a hybrid layout has not in version 2.
#
#   tests/cgroup.sh            as root, where cgroup v2 has both (`cat /sys/fs/cgroup/cgroup.controllers`)
#
# HERO is the program (target/debug/hero), USER_ID whom the server is to be (65534; 0 for root). It needs redis-server; what it starts ends with it.
set -euo pipefail
hero=${HERO:-target/debug/hero} user=${USER_ID:-65534}
top=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)
for needed in memory pids; do
  grep -qw "$needed" "$top/cgroup.controllers" || { echo "SKIPPED: $top has no controller $needed"; exit 0; }
  echo "+$needed" > "$top/cgroup.subtree_control"
done
work=$(mktemp -d) base=$top/hero-test-$$ failures=0 server=
mkdir "$base"
end() {
  [ -z "$server" ] || kill "$server" 2> /dev/null || true
  wait
  for group in "$base"/*/ "$base"; do rmdir "$group" 2> /dev/null || true; done
  rm -rf "$work"
}
trap end EXIT
result() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2"; failures=$((failures + 1)); fi; }
# Says whether a job's output or error has a text in it.
job() {
  local name=$1 wanted=$2 script=$3 said
  said=$("$hero" run --server "ws://127.0.0.1:$port" --type bash --timeout 60s -e "$script" 2>&1 || true)
  [[ $said == *"$wanted"* ]] && result 0 "$name" || { result 1 "$name: $said"; }
}

mkdir -m 700 "$work/data"
printf '[script_types.bash]\ncommand = ["bash", "{script}"]\nmemory = "64MB"\n' > "$work/hero.toml"
if [ "$user" = 0 ]; then
  python3 -c "import os, sys; os.setxattr(sys.argv[1], 'user.delegate', b'1')" "$base"
else
  # As systemd gives a delegated group to the user of its unit.
  chown "$user:$user" "$base" "$base/cgroup.procs" "$base/cgroup.subtree_control" "$work" "$work/data" "$work/hero.toml"
fi
port=18790
as_user=$(command -v setpriv || true)
bash -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' bash "$base" \
  $([ "$user" = 0 ] || echo "$as_user --reuid $user --regid $user --clear-groups") \
  "$hero" serve --config "$work/hero.toml" --data "$work/data" --listen 127.0.0.1:$port --pool osis=1,bash=2 > "$work/log" 2>&1 &
server=$!
for _ in $(seq 300); do grep -q '"\?listening\|ready' "$work/log" && break; sleep 0.2; done
grep -E "control group|engines are confined" "$work/log" || cat "$work/log"
grep -q 'memory:cgroup,processes:cgroup,end:cgroup' "$work/log" && result 0 "the report has all three" || result 1 "the report has all three"
[ -z "$(cat "$base/cgroup.procs")" ] && result 0 "the inner node is empty" || result 1 "the inner node is empty"
group=$(ls -d "$base"/hero-jobs-* | head -1)
[ "$(cat "$group/memory.max")" = $((4 * 64 * 1024 * 1024 + 64 * 1024 * 1024)) ] && [ "$(cat "$group/pids.max")" = 1088 ] && [ "$(cat "$group/memory.oom.group")" = 1 ] \
  && result 0 "limits are set" || result 1 "limits are set: $(cat "$group/memory.max" "$group/pids.max")"
job "a job runs" 42 'echo 42 >&$HERO_RESULT_FD; echo 42'
# Faster than anybody looks: twelve processes of 50 MB.
job "memory of all processes together" "of memory in all its processes" 'for i in $(seq 12); do (dd if=/dev/zero bs=50M count=1 2> /dev/null | sleep 5) & done; wait'
# The engine that ended with it is another one now.
job "the next job runs all the same" 43 'echo 43'
job "processes" "256 processes" 'for i in $(seq 400); do sleep 20 & done; wait'
job "what a job leaves is gone" 44 'setsid sleep 1000 & echo 44'
left=0
for group in "$base"/hero-jobs-*; do for process in $(cat "$group/cgroup.procs"); do grep -qa 'sleep' "/proc/$process/cmdline" 2> /dev/null && left=1; done; done
result "$left" "no sleep is left in any group"
kill -9 "$server"; wait "$server" 2> /dev/null || true
for _ in $(seq 100); do [ -z "$(cat "$base"/hero-jobs-*/cgroup.procs "$base/hero-server/cgroup.procs" 2> /dev/null)" ] && break; sleep 0.1; done
[ -z "$(cat "$base"/hero-jobs-*/cgroup.procs 2> /dev/null)" ] && result 0 "with a killed server all groups are empty" || result 1 "with a killed server all groups are empty"
server=
[ "$failures" = 0 ] && echo "PASSED" || { echo "FAILED: $failures"; exit 1; }
