#!/usr/bin/env bash
# Compares calls per second and processor time of each client with a bare client: benches/clients/README.md. HERO is the
# server program.
#
#   run.sh [--rounds N] [--seconds S]
set -eu
cd "$(dirname "$0")/../../clients"

rounds=60 seconds=0.1
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) rounds="$2" ;;
    --seconds) seconds="$2" ;;
    *) echo "$1 is no option: --rounds N, --seconds S" >&2; exit 2 ;;
  esac
  shift 2
done
: "${HERO:?names the hero to measure with}"

./typescript/setup.sh >&2
./python/setup.sh >&2
(cd typescript && node node_modules/typescript/bin/tsc --project tsconfig.build.json)

echo "TypeScript, Node.js $(node --version)"
(cd typescript && HERO="$HERO" ROUNDS="$rounds" SECONDS_EACH="$seconds" node bench/bench.js)
echo
echo "Python, $(python/venv/bin/python -c 'import platform; print(platform.python_version())')"
HERO_BIN="$HERO" python/venv/bin/python python/bench/calls.py --rounds "$rounds" --seconds "$seconds"
