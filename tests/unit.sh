#!/usr/bin/env bash
# Starts `hero serve` in what `contrib/hero.service` confines it to, without systemd, and has jobs try what must not succeed.
#
#   tests/unit.sh              as root. HERO is the program (target/debug/hero), PORT where it listens (18795)
#
# A user who is nobody, no_new_privs, no capabilities, `/proc` with hidepid, a `/tmp` of its own, everything else read-only but the data. What is not as in the unit:
# its SystemCallFilter and RestrictAddressFamilies, which only systemd sets. Each attack ends with PASS or FAIL, and the whole with PASSED or FAILED.
set -euo pipefail
cd "$(dirname "$0")/.."
hero=$(realpath "${HERO:-target/debug/hero}") port=${PORT:-18795} self=$(realpath "$0")
if [ "${1:-}" != inside ]; then
  [ "$(id -u)" = 0 ] || { echo "SKIPPED: only root can make what the unit makes"; exit 0; }
  work=$(mktemp -d /var/tmp/hero-unit-XXXXXX)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  install -m 755 "$hero" "$work/hero"
  install -d -m 700 -o 65534 -g 65534 "$work/data"
  printf '[script_types.bash]\ncommand = ["bash", "{script}"]\nmemory = "64MB"\n' > "$work/hero.toml"
  HERO="$work/hero" WORK=$work timeout "${WITHIN:-300}" unshare --mount --propagation private --pid --fork --kill-child "$self" inside
  exit
fi

# What the unit has systemd do: ProtectSystem, PrivateTmp, ProtectHome, ProtectProc.
work=$WORK
mount --bind "$work/data" "$work/data"
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /home
mount -t proc -o hidepid=2,nosuid,nodev,noexec proc /proc
mount -o remount,bind,ro /
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --)
umask 0077
HOME=/nonexistent "${nobody[@]}" "$hero" serve --config "$work/hero.toml" --data "$work/data" --listen "127.0.0.1:$port" --pool osis=1,bash=1,python=1 > /tmp/log 2>&1 &
server=$! failures=0
for _ in $(seq 300); do (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break; kill -0 "$server" || { cat /tmp/log; exit 1; }; sleep 0.2; done
grep -E 'engines are confined|private Redis is confined|WEAK|control groups' /tmp/log || true

result() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2"; failures=$((failures + 1)); fi; }
run() { "${nobody[@]}" "$hero" run --server "ws://127.0.0.1:$port" --timeout 30s "$@" 2>&1 || true; }
# A job in Python that has to say `held`, whatever it tried.
python() {
  local said
  said=$(run --type python -e "$2")
  [[ $said == *held* ]] && result 0 "$1" || { result 1 "$1"; echo "$said" | tail -n 3; }
}

# C1 to C7 of the list of attacks.
run --type bash -e 'cp "$(command -v sleep)" s; chmod 0111 s; setsid ./s 4242 & sleep 0.3' > /dev/null
sleep 1
found=0
for process in /proc/[0-9]*; do if tr '\0' ' ' < "$process/cmdline" 2> /dev/null | grep -q '/s 4242'; then found=1; fi; done
result "$found" "a program of mode 0111 ends with its job"
before=$(stat -c '%a %n' "$work/data" "$work/data"/* | sort)
run --type bash -e "chmod 777 $work/data $work/data/*; true" > /dev/null
[ "$before" = "$(stat -c '%a %n' "$work/data" "$work/data"/* | sort)" ] && result 0 "modes of the data directory stay" || result 1 "modes of the data directory stay"
run --type bash -e "echo found \$(cat $work/data/redis.secret; ls $work/data)" | grep -q 'found .*[a-z0-9]' && result 1 "the data directory is not seen" || result 0 "the data directory is not seen"
said=$(run --type python -e '
import os, select, time
pipes = [end for _ in range(300) for end in os.pipe()]
kept = [select.epoll() for _ in range(300)]
for epoll in kept:
    for pipe in pipes: epoll.register(pipe, 1)
time.sleep(10)')
[[ $said == *memory* ]] && result 0 "watches of epoll are counted" || { result 1 "watches of epoll are counted"; echo "$said" | tail -n 3; }
python "posix_fallocate takes no room" '
import os
f = os.open("x", os.O_CREAT | os.O_RDWR)
try:
    os.posix_fallocate(f, 0, 10 << 30); print("taken")
except OSError as error: print("held", error)'
call='
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
said = libc.syscall(*ARGS)
print("held" if said < 0 else "made", said, ctypes.get_errno())'
python "memfd_secret is refused" "${call/ARGS/(447, 0)}"
python "io_setup is refused" "${call/ARGS/(206, 1000, ctypes.byref(ctypes.c_ulong(0)))}"
python "inotify is refused" "${call/ARGS/(294, 0)}"
python "listmount is refused" "${call/ARGS/(458, 0, 0, 0, 0)}"
run --type bash -e 'yes "" | head -n 3000000; echo done' > /dev/null
[ "$(run -e '40 + 2' | tail -n 1)" = 42 ] && result 0 "empty log lines are survived" || result 1 "empty log lines are survived"
run --type python -e 'import sys; print("\x01" * (4 << 20))' > /dev/null
[ "$(run --type python -e 'print(43)' | grep -c 43)" -ge 1 ] && result 0 "4 MB of control characters are survived" || result 1 "4 MB of control characters are survived"
kill -0 "$server" && result 0 "the server goes on" || result 1 "the server goes on"
kill "$server"; wait "$server" || true
[ "$failures" = 0 ] && echo "PASSED" || { echo "FAILED: $failures"; exit 1; }
