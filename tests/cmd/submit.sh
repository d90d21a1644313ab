#!/bin/sh
# Kernels handed in by people and programs: submit, --wait, the outside agent.
. "$(dirname "$0")/../lib.sh"
use_fake

# A kernel that the pretending back end judges as its comment says.
kernel() {
    {
        echo "/* $2 */"
        cat "$root/kernels/tiny/c/start.c"
    } >"$work/$1"
}

t "run --agent outside waits for submissions"
start_bg "$wl" run tiny --headless --agent outside --target 1000
wait_for 10 driven tiny-1 || give_up "no engine"
run=tiny-1

t "submit --wait of a good kernel: the verdict's line, exit status 0"
kernel good.c FAKE_SPEEDUP=2.5
run_cmd "$wl" submit $run "$work/good.c" --why "wider is faster" --strategy width --wait
expect_rc 0
expect_out '^v[0-9]+ +width: measured .*: 2.50x \(2.50..2.50\), ok, RECORD$'

t "its source is kept to the byte, with what was said about it"
run_cmd "$wl" best $run
cmp -s "$out" "$work/good.c" || fail "another source"
run_cmd "$wl" log $run --grep "wider faster"
expect_rc 0
expect_out 'wider is faster'
run_cmd "$wl" show $run --json
expect_json versions/2/strategy width
expect_json versions/2/config good.c

t "submit --wait of a wrong kernel: exit status 1, the reason, no record"
kernel wrong.c FAKE_BENCH=wrong
run_cmd "$wl" submit $run "$work/wrong.c" --why "why not" --strategy width --wait
expect_rc 1
expect_out '^v[0-9]+ +width: measured nothing, wrong: as the marker says'

t "a kernel that does not build, one against the rules, one that is slower"
kernel build.c FAKE_BUILD=build
run_cmd "$wl" submit $run "$work/build.c" --why x --strategy s --wait
expect_rc 1
expect_out 'measured nothing, build: '
{
    cat "$work/good.c"
    echo '#include <sys/socket.h>'
} >"$work/rule.c"
run_cmd "$wl" submit $run "$work/rule.c" --why x --strategy s --wait
expect_rc 1
expect_out 'measured nothing, rule: .*sys/socket.h'
kernel slow.c FAKE_SPEEDUP=1.1
run_cmd "$wl" submit $run "$work/slow.c" --why x --strategy s --wait
expect_rc 0
expect_out '-56.0 % on v2: 1.10x \(1.10..1.10\), ok$'

t "the same source again gets the same verdict without being measured again"
run_cmd "$wl" submit $run "$work/good.c" --why "once more" --strategy again --wait
[ "$rc" -le 1 ] || fail "exit status $rc: $(cat "$err")"
expect_out 'again: '
run_cmd "$wl" show $run --json
expect_json best 2

t "without --wait it returns at once"
kernel later.c FAKE_SPEEDUP=1.2
run_cmd "$wl" submit $run "$work/later.c" --why later --strategy s
expect_rc 0
expect_out "^$run: submit: asked for; the engine \\(pid [0-9]+ on .*\\) reads it"

t "what cannot be a kernel is refused on the spot"
run_cmd "$wl" submit $run "$work/none.c" --why x --strategy s
[ "$rc" = 2 ] || [ "$rc" = 3 ] || fail "exit status $rc"
expect_err "$work/none.c"
: >"$work/empty.c"
run_cmd "$wl" submit $run "$work/empty.c" --why x --strategy s
expect_rc 2
expect_err 'is empty: expected a kernel'
printf 'int x;\0int y;' >"$work/nul.c"
run_cmd "$wl" submit $run "$work/nul.c" --why x --strategy s
expect_rc 2
expect_err 'NUL byte at offset 6'
head -c 1200000 /dev/zero | tr '\0' ' ' >"$work/big.c"
run_cmd "$wl" submit $run "$work/big.c" --why x --strategy s
[ "$rc" = 2 ] || [ "$rc" = 3 ] || fail "exit status $rc"
expect_err "$work/big.c"
run_cmd "$wl" submit $run "$work" --why x --strategy s
[ "$rc" = 2 ] || [ "$rc" = 3 ] || fail "exit status $rc"

t "--why and --strategy are needed"
run_cmd "$wl" submit $run "$work/good.c"
expect_rc 2
expect_err 'expected --why TEXT .* and --strategy NAME'
run_cmd "$wl" submit $run "$work/good.c" --why x
expect_rc 2

t "--timeout: no verdict in time is no success"
kernel long.c "FAKE_SPEEDUP=1.3 FAKE_MS=1000"
run_cmd "$wl" submit $run "$work/long.c" --why x --strategy s --wait --timeout 0.5
expect_rc 3
expect_err 'no verdict after [0-9.]+ s; it will stand in warploop show'

t "a fault of the machine is no verdict on the kernel"
kernel infra.c FAKE_BENCH=infra
run_cmd "$wl" submit $run "$work/infra.c" --why x --strategy s --wait --timeout 30
expect_rc 1
expect_out 'infra'
driven $run || give_up "the engine has ended"

t "a back end that dies, says garbage or falls silent is no end of the run"
for how in crash garbage; do
    kernel $how.c FAKE_BENCH=$how
    run_cmd "$wl" submit $run "$work/$how.c" --why x --strategy s --wait --timeout 30
    expect_rc 1
    driven $run || fail "the engine has ended after $how"
done
t "three faults of the machine in a row pause the run; who submits is told"
kernel better.c FAKE_SPEEDUP=2.8
run_cmd "$wl" submit $run "$work/better.c" --why x --strategy s
expect_rc 0
expect_out '^tiny-1 is paused by 3 versions in a row failed .*; it goes on with: warploop resume tiny-1$'
run_cmd "$wl" submit $run "$work/better.c" --why x --strategy s --wait --timeout 0.3
expect_rc 3
expect_err 'tiny-1 is paused by '
run_cmd "$wl" resume $run
expect_rc 0
kernel best.c FAKE_SPEEDUP=2.85
run_cmd "$wl" submit $run "$work/best.c" --why x --strategy s --wait
expect_rc 0
expect_out 'RECORD'

t "hostile words in a kernel's text reach no terminal"
kernel esc.c "FAKE_SPEEDUP=1.4"
run_cmd "$wl" submit $run "$work/esc.c" --why "$(printf 'bell \007 and \033[31mred\033[0m \302\233 x')" \
    --strategy "$(printf 'esc\033]0;title\007')" --wait
expect_rc 0
run_cmd "$wl" log $run
expect_no "$(printf '[\033\007]')" "$out"
run_cmd "$wl" show $run
expect_no "$(printf '[\033\007]')" "$out"

t "submit to a run that nobody drives is kept; --wait says so"
"$wl" stop $run >/dev/null
wait "$bg"
kernel kept.c FAKE_SPEEDUP=2.9
run_cmd "$wl" submit $run "$work/kept.c" --why x --strategy kept --wait
expect_rc 3
expect_out 'kept; nobody drives this run now'
expect_err 'the submission is kept: warploop resume'
start_bg "$wl" resume $run --headless
kept() { "$wl" show $run | grep -q 'kept'; }
wait_for 10 kept || fail "it was lost"
"$wl" stop $run >/dev/null
wait "$bg"

t "a submission to a run of the tuner is tried as well"
WARPLOOP_FAKE_BENCH_MS=300
export WARPLOOP_FAKE_BENCH_MS
start_bg "$wl" run tiny --headless --target 1000 --calls 1000
wait_for 10 driven tiny-2 || give_up "no engine"
kernel mine.c FAKE_SPEEDUP=3.3
run_cmd "$wl" submit tiny-2 "$work/mine.c" --why x --strategy mine --wait
expect_rc 0
expect_out 'mine: measured .*: 3.30x .*RECORD'

finish
