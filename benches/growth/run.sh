#!/usr/bin/env bash
# Installs what the bench needs beside this file, and measures: README.md. HERO is the server program.
#
#   run.sh curves|soak [OPTION]...
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
case "${1:-}" in
  curves) program=growth.py ;;
  soak) program=soak.py ;;
  *) echo "say what to measure: run.sh curves|soak [OPTION]..." >&2; exit 2 ;;
esac
shift
: "${HERO:?names the hero to measure}"
command -v python3 > /dev/null || { echo "this needs Python 3.11 (Debian: apt-get install python3-venv)" >&2; exit 1; }

venv="$here/venv"
# A newer version of Python does not find packages that were installed for an older one.
if ! cmp -s "$here/requirements.lock" "$venv/.lock" \
  || ! "$venv/bin/python" -c "import pygal, websockets" 2> /dev/null; then
  echo "installing what benches/growth needs …" >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --requirement "$here/requirements.lock"
  cp "$here/requirements.lock" "$venv/.lock"
fi
exec "$venv/bin/python" "$here/$program" "$@"
