#!/bin/sh
# A run that an engine drives: headless, attach, watch, pause, stop, steer, goal, kill -9, resume.
. "$(dirname "$0")/../lib.sh"
use_fake
endless_task
WARPLOOP_FAKE_BENCH_MS=100
export WARPLOOP_FAKE_BENCH_MS

# A run in the background that lasts for minutes; $run is its name.
long_run() {
    start_bg "$wl" run endless --headless --target 100000 --calls 100000 "$@"
    wait_for 10 grep -q ': task' "$work/bg.out" || give_up "it does not start"
    run=$(sed -n 's/: task.*//p' "$work/bg.out")
    wait_for 10 driven "$run" || give_up "nobody drives $run"
}

t "headless: an engine without a screen"
long_run
wait_for 10 tried "$run" 2 || fail "no versions come"
run_cmd "$wl" ls
expect_out "^$run +running \\(pid $bg on "
expect_out '1 run, 1 driven now'

t "a second engine is refused, and the first goes on"
run_cmd "$wl" resume "$run" --plain
expect_rc 0
expect_out "asked for; the engine \\(pid $bg"
run_cmd "$wl" show "$run" --json
expect_json engines 1
expect_json pid "$bg"

t "watch follows it in plain lines; a signal ends the watching, not the run"
"$wl" watch "$run" >"$out" 2>"$err" </dev/null &
watcher=$!
wait_for 10 grep -q 'measured' "$out" || fail "nothing is shown"
lines=$(wc -l <"$out")
more_lines() { [ "$(wc -l <"$out")" -gt "$((lines + 2))" ]; }
wait_for 10 more_lines || fail "nothing new is shown"
kill -INT $watcher
wait $watcher
rc=$?
expect_rc 130
driven "$run" || fail "the run has ended"

t "attach is allowed while it is driven"
"$wl" attach "$run" --plain >"$out" 2>"$err" </dev/null &
watcher=$!
wait_for 10 grep -q 'measured' "$out" || fail "nothing is shown"
kill -TERM $watcher
wait $watcher
rc=$?
expect_rc 130
driven "$run" || fail "the run has ended"

t "steer: kept with its author, seen by the agent"
run_cmd "$wl" steer "$run" "please try the zebra move"
expect_rc 0
expect_out "^$run: steer: asked for; the engine \\(pid $bg on .*\\) reads it at its next safe point"
steered() { "$wl" log "$run" --grep zebra | grep -q zebra; }
wait_for 10 steered || fail "it is not in the log"

t "steer from standard input"
printf 'a wish\nof two lines about okapi\n' | "$wl" steer "$run" - >"$out" 2>"$err"
rc=$?
expect_rc 0
steered() { "$wl" log "$run" --grep okapi | grep -q okapi; }
wait_for 10 steered || fail "it is not in the log"

t "goal: another one, numbered; what was not said stays"
run_cmd "$wl" goal "$run" "a better goal" --hours 5
expect_rc 0
regoaled() { "$wl" goal "$run" | grep -q '^goal 2: a better goal'; }
wait_for 10 regoaled || fail "it is not taken"
run_cmd "$wl" goal "$run"
expect_out 'target 100000.00x, 5 hours, 100000 tool calls'
expect_out 'the last one holds'

t "pause: what is in flight is finished, nothing new is begun"
run_cmd "$wl" pause "$run"
expect_rc 0
wait_for 10 state_is "$run" paused || fail "it is not paused"
sleep 0.3
"$wl" show "$run" --json >"$out"
n=$(json "$out" calls)
sleep 0.7
"$wl" show "$run" --json >"$out"
[ "$(json "$out" calls)" = "$n" ] || fail "it went on while paused"

t "the pause survives kill -9 and a new engine"
kill -9 "$bg"
wait "$bg" 2>/dev/null
wait_for 5 undriven "$run" || fail "it counts as driven by the dead"
run_cmd "$wl" ls
expect_out "^$run +crashed"
run_cmd "$wl" show "$run"
expect_out '^paused by +[^ ]'
start_bg "$wl" resume "$run" --headless
wait_for 10 driven "$run" || fail "no new engine"
wait_for 10 tried "$run" "$((n + 1))" || fail "resume does not end the pause"

t "kill -9 in mid-try: resume repeats what was in flight and nothing else"
kill -9 "$bg"
wait "$bg" 2>/dev/null
"$wl" show "$run" --json >"$out"
json "$out" versions | tr '{' '\n' | grep '"verdict":"ok"' >"$work/before"
start_bg "$wl" resume "$run" --headless
wait_for 10 driven "$run" || fail "no new engine"
n=$(json "$out" calls)
wait_for 10 tried "$run" "$((n + 2))" || fail "it does not go on"
"$wl" show "$run" --json >"$out"
json "$out" versions | tr '{' '\n' >"$work/after"
while read -r line; do
    grep -qF -- "$line" "$work/after" || { fail "lost or measured anew: $line"; break; }
done <"$work/before"
run_cmd "$wl" log "$run"
expect_out 'died with its engine|cut short|interrupted'

t "stop: in order, at the next safe point"
run_cmd "$wl" stop "$run"
expect_rc 0
expect_out "stop: asked for; the engine \\(pid $bg"
wait "$bg"
rc=$?
expect_rc 0
state_is "$run" stopped || fail "its state: $(json "$work/state" state)"
run_cmd "$wl" show "$run"
expect_out '^state +stopped'

t "what is asked of a run that nobody drives is kept until it goes on"
run_cmd "$wl" steer "$run" "remember the quagga"
expect_rc 0
expect_out "kept; nobody drives this run now \\(stopped\\), it is read when it goes on: warploop resume $run"
start_bg "$wl" resume "$run" --headless
steered() { "$wl" log "$run" --grep quagga | grep -q quagga; }
wait_for 10 steered || fail "it was not read"

t "stop --now does not wait for a long evaluation"
WARPLOOP_FAKE_BENCH_MS=60000
"$wl" stop "$run" >/dev/null
wait "$bg" 2>/dev/null
start_bg "$wl" resume "$run" --headless
wait_for 10 driven "$run" || fail "no engine"
sleep 0.5
began=$(date +%s%N)
run_cmd "$wl" stop "$run" --now
expect_rc 0
wait "$bg"
took=$((($(date +%s%N) - began) / 1000000))
[ "$took" -lt 2000 ] || fail "it took $took ms"
WARPLOOP_FAKE_BENCH_MS=100

t "SIGTERM stops a headless engine in order: exit status 130, goes on later"
start_bg "$wl" resume "$run" --headless
wait_for 10 driven "$run" || fail "no engine"
kill -TERM "$bg"
wait "$bg"
rc=$?
expect_rc 130
state_is "$run" stopped || fail "its state: $(json "$work/state" state)"

t "SIGHUP: the run goes on without a terminal"
start_bg "$wl" resume "$run" --plain
wait_for 10 driven "$run" || fail "no engine"
kill -HUP "$bg"
sleep 0.5
driven "$run" || fail "it ended with its terminal"
"$wl" stop "$run" >/dev/null
wait_for 10 undriven "$run" || fail "it does not stop"
wait "$bg" 2>/dev/null

t "kill -9 of the back end: the run goes on"
long_run
"$wl" show "$run" --json >"$out"
n=$(json "$out" calls)
wait_for 10 has_child "$bg" warploop-bench || fail "no bench child"
# shellcheck disable=SC2046
kill -9 $(children "$bg" warploop-bench)
wait_for 20 tried "$run" "$((n + 3))" || fail "it does not go on"
"$wl" stop "$run" >/dev/null
wait "$bg"

t "no child outlives its engine, however it dies"
start_bg "$wl" resume "$run" --headless
wait_for 10 driven "$run" || fail "no engine"
wait_for 10 has_child "$bg" warploop-bench || fail "no bench child"
brood=$(children "$bg")
kill -9 "$bg"
wait "$bg" 2>/dev/null
gone() { for c in $brood; do kill -0 "$c" 2>/dev/null && return 1; done; return 0; }
wait_for 5 gone || fail "still there: $brood"

t "two commands at once: every wish arrives, in order, once"
start_bg "$wl" resume "$run" --headless
for i in 1 2 3 4 5 6 7 8; do "$wl" steer "$run" "wish number $i of herd" >/dev/null 2>&1 & done
# shellcheck disable=SC2046
wait $(jobs -p | grep -vx "$bg") 2>/dev/null
all_there() { [ "$("$wl" log "$run" | grep -c 'wish number [1-8] of herd')" = 8 ]; }
wait_for 15 all_there || fail "$("$wl" log "$run" | grep -c 'of herd') of 8 arrived"
"$wl" stop "$run" >/dev/null
wait "$bg"

t "budget of hours: the run ends by itself"
run_cmd "$wl" run endless --plain --hours 0.001 --target 100000
expect_rc 0
expect_out ': ended: '

finish
