#!/usr/bin/env bash
# Installs the locked dependencies of the TypeScript client's tests. Does nothing if they are installed.
set -eu
cd "$(dirname "$0")"

if ! node --eval 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 19) ? 0 : 1)'; then
  echo "the tests of clients/typescript need Node.js 20.19 or newer; this is $(node --version)"
  exit 1
fi
# The marker of an installation is a copy of its lock file, written last. The tests compare it, too.
if ! cmp -s package-lock.json node_modules/.lock; then
  echo "installing what the TypeScript client is tested with …"
  # Includes optional dependencies: the compiled parts of esbuild and Vitest for this machine.
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.lock
fi
