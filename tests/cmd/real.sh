#!/bin/sh
# Whole runs with the real back end: compiled, jailed, timed.
. "$(dirname "$0")/../lib.sh"

t "run tiny to its goal: every number measured"
LIMIT=200 run_cmd "$wl" run tiny --plain --seed 5
expect_rc 0
expect_out '^compiler: .*[0-9]+\.[0-9]+'
expect_out '^jail:     builds: '
expect_out ' baseline: [0-9.]+ [mun]s a call, spread [0-9.]+ %, [0-9.]+ % of the core'
expect_out ' v1   start: measured '
expect_out 'RECORD'
expect_out '^tiny-1: ended: target met after '
best=$(sed -nE 's/^tiny-1: ended: .*best is v([0-9]+): .*/\1/p' "$out")

t "what was measured can be read: shapes, counters, machine, compiler, command"
run_cmd "$wl" show
expect_rc 0
expect_out '^  t512n480 +[0-9.]+ [mun]s +([0-9.]+ %|-) ' # -: below the clock's resolution
expect_no '^  t512n480 +[0-9.]+ [mun]s +0.0 % ' "$out"
expect_out '^  counter '
expect_out '^  machine +[^ ]'
expect_out '^  compiler +[^ ]'
expect_out '^  command +.*-O3 .*-march=native'
run_cmd "$wl" show --version best
expect_out 'instruction mix \(static\):.* instructions [0-9]+'
run_cmd "$wl" diff
expect_rc 2
run_cmd "$wl" diff tiny-1
expect_rc 0
expect_out '^\+\+\+ v'
expect_out 'in the code'

t "the best kernel is the one that was measured: submitted again it is the same program"
"$wl" best tiny-1 -o "$work/best.c" 2>/dev/null
start_bg "$wl" resume tiny-1 --headless --target 100000
if wait_for 10 driven tiny-1; then
    { echo '/* the same again */'; cat "$work/best.c"; } >"$work/again.c"
    LIMIT=100 run_cmd "$wl" submit tiny-1 "$work/again.c" --why "nothing" --strategy null --wait
    expect_rc 1
    expect_out "same: the very program of v$best"
    "$wl" stop tiny-1 >/dev/null 2>&1
    wait "$bg"
else
    fail "no engine: $(cat "$work/bg.err")"
fi

t "kill -9 in mid-try: nothing is left running, resume goes on, the baseline is not measured again"
start_bg "$wl" run tiny --headless --target 100000 --calls 12 --seed 6
wait_for 60 tried tiny-2 1 || fail "it does not start: $(cat "$work/bg.err")"
brood=$(children "$bg")
kill -9 "$bg"
wait "$bg" 2>/dev/null
gone() { for c in $brood; do kill -0 "$c" 2>/dev/null && return 1; done; return 0; }
wait_for 5 gone || fail "children outlive the engine: $brood"
LIMIT=200 run_cmd "$wl" resume tiny-2 --plain
expect_rc 0
expect_out 'tiny-2: ended: '
run_cmd "$wl" log tiny-2
[ "$(grep -c ' baseline: [0-9]' "$out")" = 1 ] || fail "not one baseline"
run_cmd "$wl" show tiny-2
expect_out ', 2 engines$'

t "kda: a short real run makes a record"
LIMIT=300 run_cmd "$wl" run kda --plain --calls 2 --target 100 --seed 7
expect_rc 0
expect_out ' baseline: [0-9.]+ ms a call'
expect_out '^kda-1: ended: budget'
expect_out 'best is v[0-9]+: [0-9.]+x \([0-9.]+\.\.[0-9.]+\)'

finish
