#!/bin/sh
# A finished run, looked at in every way: run --plain, ls, show, log, diff, best, goal, fork, watch.
. "$(dirname "$0")/../lib.sh"
use_fake

t "run --plain: head, a line a try, the end, and how to look again as last line"
run_cmd "$wl" run tiny --plain --seed 3 --calls 12 --target 1000 --goal "as fast as it gets"
expect_rc 0
expect_out '^tiny-1: task tiny; budget 8 hours, 12 tool calls; target 1000.00x'
expect_out '^compiler: fake 1.0'
expect_out ' baseline: 10 ms a call'
expect_out '  v1   start: measured .*, ok, RECORD$'
expect_out 'expected [+-][0-9.]+ %, measured [+-][0-9.]+ % on v1: [0-9.]+x \([0-9.]+\.\.[0-9.]+\), ok'
expect_out '^tiny-1: ended: .* after [0-9]+ tool calls in .*; best is v[0-9]+: [0-9.]+x \(.*\) of the baseline$'
expect_out "^it lies in $WARPLOOP_HOME/runs/tiny-1.warp; the kernel's source: warploop best tiny-1 -o FILE.c"
last=$(tail -n 1 "$out")
[ "$last" = "look again: warploop show tiny-1; go on: warploop resume tiny-1" ] || fail "last line: $last"
[ ! -s "$err" ] || fail "said on standard error: $(head -n 1 "$err")"

t "the run's file is its owner's alone"
[ "$(stat -c %a "$WARPLOOP_HOME/runs/tiny-1.warp")" = 600 ] || fail "mode of the file"
[ "$(stat -c %a "$WARPLOOP_HOME/runs")" = 700 ] || fail "mode of the folder"

t "ls"
run_cmd "$wl" ls
expect_rc 0
expect_out '^run +state +best +calls +age +size$'
expect_out '^tiny-1 +ended: .* [0-9.]+x .* [0-9]+ kB$'
expect_out '^1 run, 0 driven now$'

t "ls --json"
run_cmd "$wl" ls --json
expect_rc 0
expect_json '#' 1
expect_json 0/run tiny-1
expect_json 0/state ended
expect_json 0/task tiny
expect_json 0/path "$WARPLOOP_HOME/runs/tiny-1.warp"
[ "$(json "$out" 0/speedup)" ] || fail "no speedup"

t "alone it lists the runs and what to do next"
run_cmd "$wl"
expect_rc 0
expect_out '^tiny-1 '
expect_out 'warploop attach'

t "show: the page of a run"
run_cmd "$wl" show tiny-1
expect_rc 0
expect_out '^run +tiny-1 \(tiny\), made 20.*, seed 3, jobs [0-9]+'
expect_out '^state +ended: .*; .* at work, [0-9]+ tool calls, 1 engine$'
expect_out '^goal 1 +as fast as it gets$'
expect_out '^budget +8 hours, 12 tool calls, target 1000.00x'
expect_out '^baseline +10 ms'
expect_out '^v0 +- +baseline'
expect_out '^v1\* +v0 +ok +[0-9.]+x'
expect_out '^strategy +tries +records'
expect_out '^best +v[0-9]+: [0-9.]+x'
best=$(sed -nE 's/^best +v([0-9]+): .*/\1/p' "$out")

t "show without a name means the newest run"
cp "$out" "$work/page"
run_cmd "$wl" show
expect_rc 0
cmp -s "$work/page" "$out" || fail "another page"

t "show --json"
run_cmd "$wl" show --json
expect_rc 0
expect_json run tiny-1
expect_json best "$best"
expect_json versions/0/version 0
expect_json versions/1/strategy null
expect_json versions/1/verdict ok
expect_json versions/1/record true
expect_json goal/text "as fast as it gets"
expect_json goal/calls 12
[ "$(json "$out" versions/#)" -ge 5 ] || fail "few versions"

t "show --version: baseline, start, best, last, numbers"
for v in baseline start best last 0 1 v1 V1; do
    run_cmd "$wl" show --version $v
    expect_rc 0
    expect_out '^v[0-9]+'
done
run_cmd "$wl" show -v 99
expect_rc 2
expect_err 'there is no version 99: this run has v0 \(baseline\) to v[0-9]+'
run_cmd "$wl" show -v newest
expect_rc 2
expect_err 'expected a number \(7 or v7\), baseline, start, best or last'

t "log: every event, numbered from 1 without a gap"
run_cmd "$wl" log
expect_rc 0
awk '$1 != NR { exit 1 }' "$out" || fail "numbers are not 1, 2, 3 ..."
expect_out 'ended: '
n=$(wc -l <"$out")

t "log --last"
run_cmd "$wl" log -n 3
expect_rc 0
[ "$(wc -l <"$out")" = 3 ] || fail "not 3 lines"
[ "$(awk 'END { print $1 }' "$out")" = "$n" ] || fail "not the last ones"

t "log --body: JSON below the events that have some"
run_cmd "$wl" log --body
expect_rc 0
sed -n 's/^        {/{/p' "$out" | head -n 1 >"$work/body"
json "$work/body" / >/dev/null || fail "the first body is no JSON"

t "log --grep finds what was predicted and what became of it"
run_cmd "$wl" log --grep "channels independent"
expect_rc 0
expect_out 'channels'
run_cmd "$wl" log --grep "zebra"
expect_rc 1
expect_err 'nothing found: the search looks at'
run_cmd "$wl" log --grep '"*( AND NEAR'
[ "$rc" -le 1 ] || fail "odd characters make it fail: $(cat "$err")"

t "log --follow of a finished run ends"
LIMIT=20 run_cmd "$wl" log -f
expect_rc 0
[ "$(wc -l <"$out")" = "$n" ] || fail "not every event once"

t "diff: the baseline against the best by default, counters below"
run_cmd "$wl" diff tiny-1
expect_rc 0
expect_out '^--- v0$'
expect_out "^\+\+\+ v$best\$"
expect_out '^@@ '
expect_out '^v0 +baseline, 10 ms'
expect_out "^v$best +ok, "

t "diff of two named versions, of a version with itself, and of one that is not there"
run_cmd "$wl" diff tiny-1 v1 2 -U 0 --source
expect_rc 0
expect_out '^\+\+\+ v2$'
expect_no '^v1 ' "$out"
run_cmd "$wl" diff tiny-1 1 1
expect_rc 0
expect_out 'the sources are equal'
run_cmd "$wl" diff tiny-1 0 77
expect_rc 2
expect_err 'there is no version 77'

t "best: the source, byte for byte; the facts beside it"
run_cmd "$wl" best
expect_rc 0
cp "$out" "$work/best.c"
expect_out 'tiny_fwd'
expect_err "^tiny-1 v$best: [0-9.]+x .* of the baseline, $(wc -c <"$out") bytes"
run_cmd "$wl" best tiny-1 -o "$work/file.c"
expect_rc 0
[ ! -s "$out" ] || fail "printed the source as well"
cmp -s "$work/file.c" "$work/best.c" || fail "-o writes something else"
expect_err "written to $work/file.c"
run_cmd "$wl" best -v baseline
cmp -s "$out" "$root/kernels/tiny/c/baseline.c" || fail "the baseline is not the file"
run_cmd "$wl" best -v start
cmp -s "$out" "$root/kernels/tiny/c/start.c" || fail "the start is not the file"

t "best -o into a folder that is not there"
run_cmd "$wl" best -o "$work/none/file.c"
expect_rc 3
expect_err "$work/none"

t "goal shows the goals"
run_cmd "$wl" goal
expect_rc 0
expect_out '^goal 1: as fast as it gets$'
expect_out 'target 1000.00x, 8 hours, 12 tool calls'

t "watch of a run that nobody drives: its last lines, then the end"
run_cmd "$wl" watch tiny-1
expect_rc 0
expect_out 'ended: '
[ "$(tail -n 1 "$out")" = "$last" ] || fail "another last line: $(tail -n 1 "$out")"

t "attach to a run that nobody drives: exit status 1 and what to do"
run_cmd "$wl" attach tiny-1
expect_rc 1
expect_err 'nobody drives this run \(ended: .*Go on with it: warploop resume tiny-1; only look: warploop watch tiny-1'

t "pause and stop have nothing to do then"
for c in pause stop; do
    run_cmd "$wl" $c tiny-1
    expect_rc 1
    expect_err 'nobody drives this run \(ended: .*\): nothing to do'
done

t "nothing of that wrote to the run"
run_cmd "$wl" log
[ "$(wc -l <"$out")" = "$n" ] || fail "the log has grown"

t "resume of a run that has ended says what it needs"
run_cmd "$wl" resume tiny-1 --plain --calls 24
expect_rc 0
expect_out 'goes on with the run'
run_cmd "$wl" show --json
expect_json goal/calls 24
expect_json engines 2

t "fork: a run of its own with the parent's past; the parent is untouched"
run_cmd "$wl" fork tiny-1@1
expect_rc 0
expect_out '^tiny-2 was made from tiny-1 as it was after v1; tiny-1 is untouched$'
expect_out 'go on with it: warploop resume tiny-2'
run_cmd "$wl" show tiny-2 --json
expect_json state stopped
expect_json versions/# 2
run_cmd "$wl" ls
expect_out '^tiny-2 .*fork of tiny-1@v1'

t "the fork runs, also without its parent"
mv "$WARPLOOP_HOME/runs/tiny-1.warp" "$work/parent.warp"
run_cmd "$wl" resume tiny-2 --plain --calls 6 --target 900
expect_rc 0
expect_out 'tiny-2: ended: '
mv "$work/parent.warp" "$WARPLOOP_HOME/runs/tiny-1.warp"
run_cmd "$wl" show tiny-1 --json
expect_rc 0
expect_json engines 2

t "fork of the whole run, of a version that is not there, of a run that is not there"
run_cmd "$wl" fork tiny-2
expect_rc 0
expect_out '^tiny-3 was made from tiny-2; '
run_cmd "$wl" fork tiny-2@88
expect_rc 2
expect_err 'there is no version 88'
run_cmd "$wl" fork tiny-9@1
expect_rc 2

t "a run may be named by its path, from anywhere"
run_cmd env -C / "$wl" show "$WARPLOOP_HOME/runs/tiny-1.warp" --json
expect_rc 0
expect_json run tiny-1

t "the same seed gives the same run"
run_cmd "$wl" run tiny --plain --seed 3 --calls 12 --target 1000 --jobs 1
run_cmd "$wl" show --json
json "$out" versions | sed 's/"time_ns":[0-9]*//g' >"$work/one"
run_cmd "$wl" run tiny --plain --seed 3 --calls 12 --target 1000 --jobs 1
run_cmd "$wl" show --json
json "$out" versions | sed 's/"time_ns":[0-9]*//g' >"$work/two"
cmp -s "$work/one" "$work/two" || fail "another course"
[ -s "$work/one" ] || fail "no versions"

t "replay: the same candidates again"
run_cmd "$wl" run tiny --plain --agent "replay:$WARPLOOP_HOME/runs/tiny-1.warp" --target 1000
expect_rc 0
expect_out ': ended: '

finish
