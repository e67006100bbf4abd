#!/usr/bin/env bash
# Installs the programs that tests/it/clients runs, exactly as the two lock files say. Costs nothing where they are there.
set -eu
cd "$(dirname "$0")"

# What was installed is a copy of its lock file, written last: the tests compare it, too.
if ! cmp -s package-lock.json node_modules/.lock; then
  echo "installing the clients in Node …"
  npm ci --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.lock
fi
# A newer Python than the one they were installed for does not see them.
if ! cmp -s requirements.txt venv/.lock || ! venv/bin/python -c 'import aiorpcx, websockets' 2> /dev/null; then
  echo "installing the clients in Python …"
  rm -rf venv
  python3 -m venv venv
  venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes --requirement requirements.txt
  cp requirements.txt venv/.lock
fi
../../clients/python/setup.sh
../../clients/typescript/setup.sh
