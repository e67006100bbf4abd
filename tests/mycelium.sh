#!/usr/bin/env bash
# Tries two servers of hero over two real nodes of Mycelium, and says how long things take.
#
#   MYCELIUM_URL="http://127.0.0.1:8989 http://127.0.0.1:8991" tests/mycelium.sh
#
# MYCELIUM_URL has the HTTP APIs of two nodes that reach each other: none carries anything to itself. HERO is the program (target/debug/hero), and
# JOBS says how many jobs are timed (20). Nothing but the nodes is needed beside it; what it starts ends with it.
set -euo pipefail
cd "$(dirname "$0")/.."
hero=${HERO:-target/debug/hero} jobs=${JOBS:-20}
read -r -a urls <<< "${MYCELIUM_URL:-}"
[ ${#urls[@]} -eq 2 ] || { echo "MYCELIUM_URL has to name two nodes, with a space between them" >&2; exit 2; }

work=$(mktemp -d) pids=()
end() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2> /dev/null || true
  wait
  rm -rf "$work"
}
trap end EXIT
failed() { echo "FAILED: $*" >&2; tail -n 20 "$work"/*.log >&2; exit 1; }

# Gives what is at a URL of http.
get() {
  local at=${1#http://} host
  host=${at%%/*}
  exec 3<> "/dev/tcp/${host%:*}/${host##*:}"
  printf 'GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${at#*/}" "$host" >&3
  sed '1,/^\r$/d' <&3
  exec 3>&-
}

# Asks a command again and again until its output matches; 60 s at most.
until_says() {
  local what=$1 out end=$((SECONDS + 60))
  shift
  until out=$("$@" 2>&1) && grep -q "$what" <<< "$out"; do
    [ $SECONDS -lt $end ] || failed "never came: $what of $*: $out"
  done
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

# Starts a server with a name, a node, and whatever follows; server_NAME has its address then.
start() {
  local name=$1 url=$2
  shift 2
  HERO_MYCELIUM_URL=$url "$hero" serve --data "$work/$name" --listen 127.0.0.1:0 "$@" > "$work/$name.out" 2> "$work/$name.log" &
  pids+=($!)
  until_says ' ready on ' cat "$work/$name.out"
  declare -g "server_$name=$(sed -n 's/.* ready on \([^ ]*\) .*/\1/p' "$work/$name.out")"
}

for at in 0 1; do
  node[at]=$(get "${urls[at]}/api/v1/admin" | sed -n 's/.*"nodePubkey":"\([0-9a-f]*\)".*/\1/p')
  [ -n "${node[at]}" ] || failed "${urls[at]} does not say its key (/api/v1/admin)"
done
[ "${node[0]}" != "${node[1]}" ] || failed "both are the same node"

start one "${urls[0]}"
key_one=$("$hero" message key --server "$server_one")
start two "${urls[1]}" --nodes "one=$key_one"
key_two=$("$hero" message key --server "$server_two")
export HERO_SERVER=$server_one

echo "ping:"
"$hero" message ping "${node[1]}" | sed 's/^/  /'
"$hero" message ping "${node[1]}" --count 1 | grep -q "$key_two" || failed "another node answers"

runner=$("$hero" runner create osis --address "${node[1]}" --pubkey "$key_two" --name two)
for n in $(seq "$jobs"); do
  began=$(milliseconds)
  [ "$("$hero" run --group "runner$runner" -e "40 + $n")" = $((40 + n)) ] || failed "job $n gave something else"
  echo $(($(milliseconds) - began))
done > "$work/jobs"
echo "one job at the runner, with the start of the client: $(median < "$work/jobs") ms (median of $jobs)"

for n in $(seq 10); do
  began=$(milliseconds)
  message=$("$hero" message send "hello $n" --to "${node[1]}")
  until_says '^status   acknowledged' "$hero" message show "$message"
  echo $(($(milliseconds) - began))
done > "$work/chats"
echo "a chat until it is acknowledged: $(median < "$work/chats") ms (median of 10)"

{
  echo 'jobs:'
  for n in $(seq 12); do
    printf '  job%s: { runner: %s, script: "%s"' "$n" "$runner" "$n"
    [ "$n" -eq 1 ] || printf ', depends_on: [job%s]' $((n - 1))
    echo ' }'
  done
} > "$work/flow.yaml"
began=$(milliseconds)
"$hero" flow run "$work/flow.yaml" > /dev/null || failed "the flow failed"
echo "a flow of twelve jobs, one after another: $(($(milliseconds) - began)) ms"

# What does not arrive says why.
errs() {
  local told=$1
  shift
  local message
  message=$("$hero" message send --timeout-ack 5 "$@")
  until_says "error .*$told" "$hero" message show "$message"
  echo "as it should, a message fails: $told"
}
errs 'has not found' --to "$(printf '%064x' 7)" hello
errs 'does not deliver to itself' --to "${node[0]}" hello
head -c 300000 /dev/zero | tr '\0' '\1' > "$work/large"
errs 'bytes on its way, the limit is' --to "${node[1]}" - < "$work/large"

# The other server is away, and comes back.
kill "${pids[1]}"
wait "${pids[1]}" || true
message=$("$hero" message send "are you there?" --to "${node[1]}")
until_says 'nobody there has fetched it' "$hero" message show "$message"
began=$(milliseconds)
start two "${urls[1]}" --nodes "one=$key_one"
until_says '^status   acknowledged' "$hero" message show "$message"
echo "a message that lay while nobody was there: acknowledged $(($(milliseconds) - began)) ms after a server was started"

echo "metrics:"
get "http://${server_one#ws://}/metrics" | grep '^hero_message.*mycelium' | grep -v _bucket | sed 's/^/  /'
echo "all is as it should be"
