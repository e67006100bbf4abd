#!/usr/bin/env bash
# Installs what the tests of the TypeScript client use, exactly as the lock file says. Costs nothing where it is there.
set -eu
cd "$(dirname "$0")"

if ! node --eval 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 19) ? 0 : 1)'; then
  echo "the tests of clients/typescript need Node.js 20.19 or newer; this is $(node --version)"
  exit 1
fi
# What was installed is a copy of its lock file, written last: the tests compare it, too.
if ! cmp -s package-lock.json node_modules/.lock; then
  echo "installing what the TypeScript client is tested with …"
  # With what is optional: the compiled parts of esbuild and Vitest for this machine.
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.lock
fi
