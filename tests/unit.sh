#!/usr/bin/env bash
# Starts `hero serve` as `contrib/hero.service` has it, and has jobs try what must not succeed.
#
#   tests/unit.sh              as root. HERO is the program (target/debug/hero), PORT where it listens (18795)
#   tests/unit.sh systemd      the same with the unit itself, in a systemd of its own that boots in namespaces
#
# Without systemd: a user who is nobody, no_new_privs, no capabilities, `/proc` with hidepid, a `/tmp` of its own, everything else read-only but the data. What is not
# as in the unit then: its SystemCallFilter and RestrictAddressFamilies. Each attack ends with PASS or FAIL, and the whole with PASSED, FAILED, or SKIPPED with a reason.
set -euo pipefail
cd "$(dirname "$0")/.."
hero=$(realpath "${HERO:-target/debug/hero}") port=${PORT:-18795} self=$(realpath "$0") how=${1:-} WITHIN=${WITHIN:-300}
settings='[script_types.bash]
command = ["bash", "{script}"]
memory = "64MB"'
skip() { echo "SKIPPED: $1"; exit 0; }

case $how in
  "" | systemd)
    [ "$(id -u)" = 0 ] || skip "only root can make what the unit makes"
    work=$(mktemp -d /var/tmp/hero-unit-XXXXXX)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    install -m 755 "$hero" "$work/hero"
    export HERO="$work/hero" WORK=$work WITHIN
    if [ -z "$how" ]; then
      install -d -m 700 -o 65534 -g 65534 "$work/data"
      echo "$settings" > "$work/hero.toml"
      timeout "$WITHIN" unshare --mount --propagation private --pid --fork --kill-child "$self" inside
      exit
    fi
    [ -x /lib/systemd/systemd ] || skip "there is no systemd here"
    groups=()
    for tree in /sys/fs/cgroup /sys/fs/cgroup/{systemd,unified,memory,pids}; do
      [ -e "$tree/cgroup.procs" ] && mkdir "$tree/${work##*/}" 2> /dev/null && groups+=("$tree/${work##*/}")
    done
    # Its first process ends by no other signal.
    ( for group in "${groups[@]}"; do echo 0 > "$group/cgroup.procs"; done
      exec timeout --signal=KILL "$WITHIN" unshare --mount --propagation private --pid --ipc --uts --cgroup --fork --kill-child "$self" boot ) &
    outside=$!
    end() {
      kill -KILL "${inside:-$outside}" 2> /dev/null || true
      wait "$outside" 2> /dev/null || true
      for group in "${groups[@]}"; do find "$group" -depth -type d -exec rmdir {} + 2> /dev/null || true; done
      rm -rf "$work"
    }
    trap end EXIT
    for _ in $(seq 300); do
      # timeout starts unshare, and that what becomes systemd.
      inside=$(pgrep -P "$(pgrep -P "$outside" || echo 0)" || true)
      [ "$(cat "/proc/${inside:-0}/comm" 2> /dev/null)" = systemd ] && enter=(nsenter -t "$inside" -m -p -i -u -C --) && "${enter[@]}" systemctl is-active -q unit.target && break
      kill -0 "$outside" 2> /dev/null || skip "systemd does not boot in namespaces here"
      sleep 0.2
    done
    timeout "$WITHIN" "${enter[@]}" "$self" unit
    exit
    ;;
  boot)
    # Whatever is written stays in here.
    mount -t tmpfs -o mode=755 tmpfs /run
    mount -t tmpfs -o mode=1777 tmpfs /tmp
    for writable in /etc /usr/local /var/lib /var/log; do
      mkdir -p "/run/written$writable/upper" "/run/written$writable/work"
      mount -t overlay -o "lowerdir=$writable,upperdir=/run/written$writable/upper,workdir=/run/written$writable/work" overlay "$writable"
    done
    mount -t proc proc /proc
    # Control groups as they are from here.
    trees=$(awk '$3 == "cgroup" || $3 == "cgroup2" { print $2, $3, $4 }' /proc/self/mounts)
    umount -R -l /sys/fs/cgroup
    [[ $trees == /sys/fs/cgroup\ * ]] || mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    while read -r tree type options; do
      mkdir -p "$tree"
      [ "$type" = cgroup2 ] && options=rw || options=${options##*relatime,}
      [[ $options == name=* ]] && options=none,$options
      mount -t "$type" -o "$options" "$type" "$tree"
    done <<< "$trees"
    # Nothing starts but the unit and what it asks for. What a machine does at its boot is done.
    mkdir -p /run/systemd/system
    for other in /lib/systemd/system/{sysinit,sockets,timers,local-fs}.target.wants/* /etc/systemd/system/*.wants/*; do ln -sf /dev/null "/run/systemd/system/${other##*/}"; done
    printf '[Unit]\nDescription=nothing else\nDefaultDependencies=no\n' > /run/systemd/system/unit.target
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=unit.target --log-target=null --show-status=0
    ;;
  inside)
    # What the unit has systemd do: ProtectSystem, PrivateTmp, ProtectHome, ProtectProc.
    work=$WORK data=$WORK/data
    mount --bind "$data" "$data"
    mount -t tmpfs -o mode=1777 tmpfs /tmp
    mount -t tmpfs -o mode=755 tmpfs /home
    mount -t proc -o hidepid=2,nosuid,nodev,noexec proc /proc
    mount -o remount,bind,ro /
    as_hero=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --)
    umask 0077
    HOME=/nonexistent "${as_hero[@]}" "$hero" serve --config "$work/hero.toml" --data "$data" --listen "127.0.0.1:$port" --pool osis=1,bash=1,python=1 > /tmp/log 2>&1 &
    server=$!
    log() { cat /tmp/log; }
    stop() { kill "$server"; wait "$server" || true; }
    ;;
  unit)
    # As the unit says that it is installed.
    data=/var/lib/hero as_hero=(setpriv --reuid 65534 --clear-groups --)
    install -m 755 "$hero" /usr/local/bin/hero
    install -D -m 644 contrib/hero.sysusers.conf /etc/sysusers.d/hero.conf && systemd-sysusers hero.conf
    install -D -m 644 contrib/hero.tmpfiles.conf /etc/tmpfiles.d/hero.conf && systemd-tmpfiles --create hero.conf
    { echo "listen = \"127.0.0.1:$port\""; printf '[[pools]]\ntype = "%s"\n' osis bash python; echo "$settings"; } >> /etc/hero.toml
    install -m 644 contrib/hero.service /etc/systemd/system/
    # Its log, which would go to the journal.
    mkdir -p /run/systemd/system/hero.service.d
    printf '[Service]\nStandardOutput=file:/run/hero.log\nStandardError=file:/run/hero.log\n' > /run/systemd/system/hero.service.d/log.conf
    log() { cat /run/hero.log; }
    stop() { systemctl stop hero && [ "$(systemctl show -P Result hero)" = success ]; }
    systemctl daemon-reload && systemctl enable --now hero || { systemctl status --no-pager hero; exit 1; }
    server=$(systemctl show -P MainPID hero)
    ;;
esac

for _ in $(seq 300); do (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break; kill -0 "$server" || { log; exit 1; }; sleep 0.2; done
log | grep -E 'engines are confined|private Redis is confined|WEAK|control groups' || true
failures=0

result() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2"; failures=$((failures + 1)); fi; }
run() { "${as_hero[@]}" "$hero" run --server "ws://127.0.0.1:$port" --timeout 30s "$@" 2>&1 || true; }
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
said=$(run --type bash -e 'cp "$(command -v sleep)" s; chmod 0111 s; ./s 25')
[[ $said == *"a program that its user may not read"* ]] && result 0 "it does not hide what it has open" || { result 1 "it does not hide what it has open"; echo "$said" | tail -n 3; }
before=$(stat -c '%a %n' "$data" "$data"/* | sort)
run --type bash -e "chmod 777 $data $data/*; true" > /dev/null
[ "$before" = "$(stat -c '%a %n' "$data" "$data"/* | sort)" ] && result 0 "modes of the data directory stay" || result 1 "modes of the data directory stay"
run --type bash -e "echo found \$(cat $data/redis.secret; ls $data)" | grep -q 'found .*[a-z0-9]' && result 1 "the data directory is not seen" || result 0 "the data directory is not seen"
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
stop && result 0 "the server ends when it is told to" || result 1 "the server ends when it is told to"
[ "$failures" = 0 ] && echo "PASSED" || { echo "FAILED: $failures"; exit 1; }
