#!/bin/sh
# Runs suites one after another and prints one closing line with the counts of all.
# usage: run-all.sh SUITE...
# A suite is a shell script that ends with a line "NAME: N passed, N failed" or "..., N skipped";
# "unit" stands for the unit test programs that $UNIT_TESTS names.
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0 skipped=0
began=$(date +%s)
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
for suite in "$@"; do
    start=$(date +%s)
    if [ "$suite" = unit ]; then
        # shellcheck disable=SC2086
        timeout 600 sh tests/run-unit.sh $UNIT_TESTS >"$log" 2>&1
    else
        timeout 600 sh "$suite" >"$log" 2>&1
    fi
    rc=$?
    sed '$d' "$log"
    last=$(tail -n 1 "$log")
    counts=$(printf '%s\n' "$last" |
        sed -nE 's/^[a-z_-]+: ([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p')
    if [ -z "$counts" ]; then
        printf '%s\n' "$last"
        printf 'FAILED %s ended with status %d and without its counts\n' "$suite" "$rc"
        failed=$((failed + 1))
        continue
    fi
    # shellcheck disable=SC2086
    set_counts() { p=$1 f=$2 s=${3:-0}; }
    set_counts $counts
    [ "$rc" != 0 ] && [ "$f" = 0 ] && f=1
    printf '%-44s %s s\n' "$last" "$(($(date +%s) - start))"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "($(($(date +%s) - began)) s)"
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ]
