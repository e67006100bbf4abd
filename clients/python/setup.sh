#!/usr/bin/env bash
# Installs the locked dependencies of the Python client's tests, and the client itself. Does nothing if they are
# installed.
set -eu
cd "$(dirname "$0")"

lock="$(cat requirements.txt pyproject.toml)"
# A newer version of Python does not find packages that were installed for an older one.
if [ "$lock" != "$(cat venv/.lock 2> /dev/null)" ] || ! venv/bin/python -c 'import hero, pytest, redis' 2> /dev/null; then
  echo "installing what the Python client is tested with …"
  rm -rf venv
  python3 -m venv venv
  venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements.txt
  venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
  cat requirements.txt pyproject.toml > venv/.lock
fi
if ! cmp -s package-lock.json node_modules/.lock; then
  npm ci --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.lock
fi
