#!/usr/bin/env bash
# Installs the peers beside this file and runs the comparison. `make bench-peers` builds hero first.
set -eu
cd "$(dirname "$0")"
for program in node npm python3; do
  command -v "$program" > /dev/null || { echo "bench-peers needs $program (Debian: apt-get install -y nodejs npm python3-venv)"; exit 1; }
done
# `npm ci` needs the optional native parts of every platform in the lock file; `npm install` takes the locked versions
# without them.
[ -d node_modules/bullmq ] || npm install --no-audit --no-fund --no-save --omit=optional --silent
if [ ! -x venv/bin/dramatiq ]; then
  python3 -m venv venv
  venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.lock
fi
exec python3 run.py --hero "${HERO:?says where hero is}" "$@"
