#!/bin/sh
# Runs unit test programs (cmocka, TAP-less) one after another and prints one closing line.
# usage: run-unit.sh PROGRAM...
passed=0 failed=0 bad=""
for t in "$@"; do
    out=$(mktemp)
    if timeout 300 "$t" >"$out" 2>&1; then rc=0; else rc=$?; fi
    p=$(grep -c '^\[       OK \]' "$out")
    f=$(grep "^\[  FAILED  \]" "$out" | grep -v "test(s)" | sort -u | wc -l)
    [ "$rc" -ne 0 ] && [ "$f" -eq 0 ] && f=1
    passed=$((passed + p)) failed=$((failed + f))
    printf '  %-28s %3d passed, %d failed\n' "$(basename "$t")" "$p" "$f"
    if [ "$rc" -ne 0 ]; then bad="$bad $(basename "$t")"; sed 's/^/    | /' "$out" | tail -60; fi
    rm -f "$out"
done
[ -n "$bad" ] && echo "failed:$bad"
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
