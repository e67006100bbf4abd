#!/usr/bin/env bash
# Runs modules of Python's own tests in a confined job and outside, and compares: whatever does not do in a job what it does outside has to be
# explained by a refusal that is meant, in tests/stdlib.txt.
#
#   tests/stdlib.sh [--list] [MODULE[:PATTERN]…]
#
# HERO is the program (target/debug/hero), PYTHON an interpreter that has the package `test` and that others may run (python3). Without
# modules it takes those that make most system calls. A pattern takes some tests of a module. --list shows the differences that are explained, too.
set -euo pipefail
cd "$(dirname "$0")/.."
hero=$(realpath "${HERO:-target/debug/hero}") list=
if [ "${1:-}" = --list ]; then list=1; shift; fi
modules=("$@")
[ ${#modules[@]} -gt 0 ] || modules=(test_json test_os test_posix test_fcntl test_tempfile test_threading test_thread test_subprocess
  'test_socket:*SocketPair*' test_select test_selectors test_epoll test_signal test_mmap test_sqlite3 test_shutil test_pathlib test_resource test_pty
  test_eintr test_fork1 test_wait4 test_mailbox test_zipfile test_asyncio.test_unix_events test_asyncio.test_subprocess
  test_asyncio.test_streams test_asyncio.test_tasks test_multiprocessing_fork test_ctypes test_venv)
work=$(mktemp -d) server=
chmod 755 "$work"
end() {
  [ -z "$server" ] || kill "$server" 2> /dev/null || true
  wait
  rm -rf "$work"
}
trap end EXIT

# Outside it is not root, either: as root these tests change the clock of the machine.
somebody=()
mkdir "$work/outside"
if [ "$(id -u)" -eq 0 ]; then
  somebody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs --)
  chown 65534:65534 "$work/outside"
fi
python=
for name in ${PYTHON:-python3 /usr/bin/python3}; do
  path=$("$name" -c 'import sys; print(sys.executable)' 2> /dev/null) || continue
  if (cd / && "${somebody[@]}" "$path" -c 'import os, sys, test.support; os.stat(sys.executable)' 2> /dev/null); then python=$path; break; fi
done
[ -n "$python" ] || { echo "skipped: there is no Python with its tests that others may run"; exit 0; }

# What each test of a module came to, a line each. It is Python for both, where the one outside prints what the one inside gives.
cat > "$work/run.py" << 'PYTHON'
import os, subprocess, sys, xml.etree.ElementTree as tree
def come_to(module):
    at = os.path.abspath("outcome.xml")
    module, _, only = module.partition(":")
    words = [sys.executable, "-m", "test", "--timeout", "120", "--junit-xml", at, module] + (["-m", only] if only else [])
    ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "LANG": "C.UTF-8"})
    if not os.path.exists(at):
        return [f"{module} whole {ran.returncode} " + ran.stdout.decode("utf-8", "replace")[-400:].replace("\n", " ")]
    def state(case):
        if case.find("error") is not None or case.find("failure") is not None:
            return "fails"
        return "skipped" if case.find("skipped") is not None else "passes"
    cases = tree.parse(at).iter("testcase")
    said = sorted({f"{case.get('name')} {state(case)}" for case in cases})
    os.remove(at)
    return said or [f"{module} whole " + ("passes" if ran.returncode == 0 else "fails")]
PYTHON

printf 'data = "%s/data"\nlisten = "127.0.0.1:0"\n[script_types.python]\ninterpreter = "%s"\n' "$work" "$python" > "$work/hero.toml"
"$hero" serve --config "$work/hero.toml" --pool python=1 > "$work/out" 2> "$work/log" &
server=$!
for _ in $(seq 600); do
  grep -q . "$work/out" && break
  kill -0 "$server" 2> /dev/null || break
  read -rt 0.1 <> <(:) || true
done
address=$(grep -ohE 'ws://127\.0\.0\.1:[0-9]+' "$work/out" "$work/log" | head -n 1)
[ -n "$address" ] || { cat "$work/log" >&2; exit 1; }

differ=0
for module in "${modules[@]}"; do
  (cd "$work/outside"; HOME=$work/outside TMPDIR=$work/outside "${somebody[@]}" "$python" -c \
    "exec(open('$work/run.py').read()); print('\n'.join(come_to('$module')))") > "$work/outside.txt" || true
  { cat "$work/run.py"; printf "import hero\nhero.result('\\\\n'.join(come_to('%s')))\n" "$module"; } > "$work/job.py"
  "$hero" run --server "$address" --type python --timeout 15m "$work/job.py" > "$work/inside.txt" 2> "$work/inside.log" \
    || { echo "$module whole fails: $(tail -n 3 "$work/inside.log" | tr '\n' ' ')" > "$work/inside.txt"; }
  # In a job it may pass what it does not outside.
  comm -13 <(sort -u "$work/outside.txt") <(sort -u "$work/inside.txt") | { grep -v ' passes$' || true; } > "$work/differ.txt"
  unexplained=0
  while read -r line; do
    why=
    while IFS=$'\t' read -r pattern reason; do
      case $pattern in ''|'#'*) continue ;; esac
      if [[ $line =~ $pattern ]]; then why=$reason; break; fi
    done < tests/stdlib.txt
    if [ -z "$why" ]; then unexplained=$((unexplained + 1)); echo "DIFFERS $module: $line"
    elif [ -n "$list" ]; then echo "meant $module: $line: $why"; fi
  done < "$work/differ.txt"
  inside=$(grep -c ' passes$' "$work/inside.txt") || true
  outside=$(grep -c ' passes$' "$work/outside.txt") || true
  echo "$module: $inside of $outside pass, $(wc -l < "$work/differ.txt") differ, $unexplained without a reason"
  differ=$((differ + unexplained))
done
[ "$differ" -eq 0 ]
