#!/usr/bin/env bash
# Fails when web/dist was not built from the sources as they are. Hashes of the
# uncompressed files are compared, since compressors differ in their bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
(cd web && INLAY_DIST="$built" npm run --silent build >/dev/null)
if ! diff -u web/dist/manifest.json "$built/manifest.json"; then
  echo "web/dist is stale: run 'make web' and commit the result" >&2
  exit 1
fi
node web/scripts/compress.mjs --verify web/dist
