#!/usr/bin/env bash
# Reads the recorded streams of every dialect with the clients that its users
# have. Arguments are names of folders; without any all are checked.
set -euo pipefail
cd "$(dirname "$0")"
wanted=" $* "

check() { # folder
	[[ $wanted == "  " || $wanted == *" $1 "* ]] || return 0
	echo "== $1"
	(cd "$1" && npm ci --no-audit --no-fund --silent && node --test --test-reporter=dot ./check.mjs)
}

check ubp
check cards
check agui
check aisdk
