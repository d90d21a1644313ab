#!/bin/sh
# The demo, shortened: climb, cheat refused, kill -9, resume, the last lines.
. "$(dirname "$0")/../lib.sh"

t "demo in plain lines, to its end"
LIMIT=200 run_cmd "$wl" demo --task kda --seconds 50 --plain --seed 11
expect_rc 0
expect_out '^machine:  .*GFLOP/s'
expect_out '^flags:    '
expect_out '^compiler: '
expect_out '^jail:     '
expect_out ' baseline: [0-9.]+ ms a call, spread '
expect_out 'RECORD'
cp "$out" "$work/demo"

t "the cheat is refused with family and error"
expect_out 'a known cheat is submitted now'
expect_out 'demo-cheat: measured nothing, (wrong|inaccurate): .* family '

t "kill -9 in mid-try is survived, visibly"
expect_out 'the next evaluation is cut short by kill -9'
expect_out '^---- killed with -9 in mid-try'
expect_out 'engine 2 \(pid [0-9]+\) goes on with the run'
expect_out '^---- 2 engines drove this run'

t "the diff, what was measured, where the kernel lies, how to look again"
expect_out '^---- baseline against v[0-9]+, the best'
expect_out '^--- v0'
expect_out '^---- measured'
expect_out "the kernel's source: warploop best kda-1 -o FILE.c"
[ "$(tail -n 1 "$out")" = "look again: warploop show kda-1; go on: warploop resume kda-1" ] ||
    fail "last line: $(tail -n 1 "$out")"

t "it is a run like any other: nothing finished was lost or done twice"
run_cmd "$wl" show kda-1 --json
expect_rc 0
expect_json engines 2
expect_json state ended
run_cmd "$wl" log kda-1
[ "$(grep -c ' baseline: [0-9]' "$out")" = 1 ] || fail "the baseline was measured more than once"
[ "$(grep -oE 'call [0-9]+ done' "$out" | sort | uniq -d | wc -l)" = 0 ] || fail "a call was done twice"
run_cmd "$wl" best kda-1
expect_rc 0

finish
