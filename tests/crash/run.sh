#!/bin/sh
# Kills runs in every way there is and compares what becomes of them. TORTURE=1: the long form, with
# the real back end as well.
bin=${WARPLOOP_BIN:-$(dirname "$0")/../../build/bin}
crash=$bin/../test/crash/crash
[ -n "$TORTURE" ] || exec "$crash"
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
passed=0 failed=0
for how in "" --real; do
    # shellcheck disable=SC2086
    "$crash" --torture $how >"$log" 2>&1 || true
    sed '$d' "$log"
    set -- $(tail -n 1 "$log" | sed -nE 's/^crash: ([0-9]+) passed, ([0-9]+) failed$/\1 \2/p')
    passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1}))
done
echo "crash: $passed passed, $failed failed"
[ "$failed" = 0 ]
