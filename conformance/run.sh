#!/usr/bin/env bash
# Reads the streams of every dialect with the clients that its users have: the
# recorded ones, and where a folder has live.mjs those of a server that is built
# and started for it. The pages need chromium. Arguments are names of folders;
# without any all are checked.
set -euo pipefail
cd "$(dirname "$0")"
wanted=" $* "

check() { # folder
	[[ $wanted == "  " || $wanted == *" $1 "* ]] || return 0
	echo "== $1"
	(cd "$1" && { [ ! -f package.json ] || npm ci --no-audit --no-fund --silent; } && node --test --test-reporter=dot $(ls ./check.mjs ./live.mjs 2>/dev/null))
}

check ubp
check cards
check agui
check copilotkit
check aisdk
check assistant-ui
check proxies
check pages
