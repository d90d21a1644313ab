#!/bin/sh
# warploop bench: kernels judged and timed outside any run.
. "$(dirname "$0")/../lib.sh"

# A kernel that the pretending back end judges as its comment says.
kernel() {
    {
        echo "/* $2 */"
        cat "$root/kernels/tiny/c/start.c"
    } >"$work/$1"
}

t "the real thing: one kernel right, one wrong, one that does not compile"
cp "$root/kernels/tiny/c/start.c" "$work/right.c"
cp "$root/kernels/tiny/c/cheat_dropped_history.c" "$work/wrong.c"
sed 's/float d = .*/float d = nowhere;/' "$work/right.c" >"$work/broken.c"
LIMIT=300 run_cmd "$wl" bench tiny "$work/broken.c" "$work/wrong.c" "$work/right.c" --json
expect_rc 1
expect_json task tiny
expect_json mode full
expect_json kernels/# 3
expect_json kernels/0/verdict build
grep -q 'nowhere' "$out" || fail "the compiler's message is missing"
expect_json kernels/0/speedup null
expect_json kernels/0/result null
expect_json kernels/1/verdict wrong
expect_json kernels/1/family long-memory
expect_json kernels/1/tensor y
[ -n "$(json "$out" kernels/1/shape)" ] || fail "no shape"
expect_json kernels/1/speedup null
json "$out" kernels/1/error kernels/1/limit >/dev/null || fail "no error and limit"
expect_json kernels/2/verdict ok
expect_json kernels/2/file "$work/right.c"
for key in speedup lo hi result/shapes/0/ns result/shapes/0/lo result/shapes/0/peak_share \
    result/counters/0/name result/machine/cpu build/command build/mix/instructions; do
    value=$(json "$out" "kernels/2/$key")
    [ -n "$value" ] && [ "$value" != null ] || fail "no $key"
done
awk -v lo="$(json "$out" kernels/2/lo)" -v x="$(json "$out" kernels/2/speedup)" \
    -v hi="$(json "$out" kernels/2/hi)" 'BEGIN { exit !(lo <= x && x <= hi && lo < hi && x > 0.5 && x < 2) }' ||
    fail "no interval around a speedup of about 1"
[ "$(json "$out" kernels/2/source)" = "$(sha256sum <"$work/right.c" | cut -d ' ' -f 1)" ] ||
    fail "not the hash of the source"

t "the real thing as text: a wrong answer says where, a build what the compiler says"
LIMIT=300 run_cmd "$wl" bench tiny "$work/wrong.c" "$work/broken.c"
expect_rc 1
expect_out "^$work/wrong.c: wrong\$"
expect_out 'tensor y in family long-memory on shape [a-z0-9]+: error [0-9.]+, limit [0-9.e-]+; got .*, expected '
expect_out "^$work/broken.c: build\$"
expect_out "error: .*nowhere.* undeclared"

use_fake

t "no run was made"
run_cmd "$wl" ls --json
expect_json '#' 0

t "a right kernel: verdict, interval, a line a shape; exit status 0"
kernel good.c FAKE_SPEEDUP=2.5
run_cmd "$wl" bench tiny "$work/good.c"
expect_rc 0
expect_out "^$work/good.c: ok, 2.50x \\(2.50..2.50\\) of the baseline\$"
expect_out '^  t512n480 +4 ms +0.1 % +10 ms +2.50x \(2.50..2.50\).* 25.0 %$'
expect_no '^speedup ' "$out"

t "several: a table at the end, the fastest first, what was not timed last"
kernel wrong.c FAKE_BENCH=wrong
kernel slow.c FAKE_SPEEDUP=0.9
kernel build.c FAKE_BUILD=build
kernel screened.c "FAKE_BENCH=screened FAKE_SPEEDUP=0.5"
run_cmd "$wl" bench tiny "$work/build.c" "$work/slow.c" "$work/wrong.c" "$work/good.c" "$work/screened.c"
expect_rc 1
sed '1,/^speedup  *verdict/d' "$out" | awk '{ print $(NF - 1), $NF }' | sed 's/ .*\// /' >"$work/table"
printf '%s\n' 'ok good.c' 'ok slow.c' 'screened screened.c' 'build build.c' 'wrong wrong.c' >"$work/want"
cmp -s "$work/table" "$work/want" || fail "the table is $(tr '\n' ',' <"$work/table")"
run_cmd "$wl" bench tiny "$work/slow.c" "$work/good.c"
expect_rc 0

t "a broken rule: the line, and nothing is built"
WARPLOOP_FAKE_JOURNAL=$work/journal
export WARPLOOP_FAKE_JOURNAL
{
    cat "$work/good.c"
    echo '#include <sys/socket.h>'
} >"$work/rule.c"
run_cmd "$wl" bench tiny "$work/rule.c"
expect_rc 1
expect_out "^$work/rule.c:$(wc -l <"$work/rule.c"): rule\$"
expect_out 'sys/socket.h'
[ "$(grep -c '^build' "$work/journal")" = 2 ] || fail "it was built"
run_cmd "$wl" bench tiny "$work/rule.c" --json
expect_json kernels/0/line "$(wc -l <"$work/rule.c")"
expect_json kernels/0/build null

t "a fault of the machine is tried once more, and is no verdict on the kernel: exit status 3"
kernel infra.c FAKE_BENCH=infra
: >"$work/journal"
run_cmd "$wl" bench tiny "$work/infra.c" --json
expect_rc 3
expect_json kernels/0/verdict infra
[ "$(grep -c '^bench' "$work/journal")" = 2 ] || fail "not tried twice"
kernel once.c "FAKE_BENCH=infra-once FAKE_SPEEDUP=2"
run_cmd "$wl" bench tiny "$work/once.c"
expect_rc 0
for how in crash garbage noid; do
    kernel $how.c FAKE_BENCH=$how
    run_cmd "$wl" bench tiny "$work/$how.c" "$work/good.c"
    expect_rc 3
    expect_out "^$work/$how.c: infra\$"
    expect_out '2.50x .* ok .*good.c$'
done
kernel noobject.c FAKE_BUILD=noobject
run_cmd "$wl" bench tiny "$work/noobject.c"
expect_rc 3

t "--screen asks for the quick form: few sets, against the baseline as incumbent"
run_cmd "$wl" bench tiny "$work/good.c" --screen --json
expect_rc 0
expect_json mode screen
gain=$(json "$out" kernels/0/result/gain)
[ -n "$gain" ] || fail "the baseline was no incumbent"

t "bad input is refused before anything is built, and nothing is printed"
: >"$work/journal"
: >"$work/empty.c"
printf 'int x;\0int y;' >"$work/nul.c"
run_cmd "$wl" bench tiny "$work/good.c" "$work/empty.c"
expect_rc 2
expect_err "$work/empty.c is empty: expected a kernel's source"
run_cmd "$wl" bench tiny "$work/nul.c"
expect_rc 2
expect_err 'NUL byte at offset 6'
run_cmd "$wl" bench tiny "$work/none.c" --json
[ "$rc" = 2 ] || [ "$rc" = 3 ] || fail "exit status $rc"
expect_err "$work/none.c"
[ ! -s "$out" ] || fail "printed: $(head -n 1 "$out")"
run_cmd "$wl" bench tinny "$work/good.c"
expect_rc 2
expect_err 'there is no task "tinny".*tiny'
run_cmd "$wl" bench tiny
expect_rc 2
expect_err 'FILE... is missing; usage: warploop bench TASK FILE...'
[ ! -s "$work/journal" ] || fail "something was built"

t "an interrupt kills the children and ends with 130"
kernel hang.c FAKE_BENCH=hang
for signal in INT TERM; do
    start_bg "$wl" bench tiny "$work/hang.c"
    wait_for 10 has_child "$bg" warploop-bench || fail "no bench was started"
    kids=$(children "$bg")
    kill -$signal "$bg"
    wait "$bg"
    rc=$?
    expect_rc 130
    grep -q '^warploop: interrupted$' "$work/bg.err" || fail "it does not say so"
    for kid in $kids; do
        if kill -0 "$kid" 2>/dev/null; then fail "child $kid lives on"; fi
    done
done

t "progress on a terminal, gone at the end; none in a pipe"
kernel long.c "FAKE_SPEEDUP=1.5 FAKE_MS=700"
TERM=xterm on_tty 24 100 'wait:long.c: check, 1 of 2' -- "$wl" bench tiny "$work/long.c"
expect_rc 0
expect_out 'long.c: ok, 1.50x'
expect_no 'check, 1 of 2' "$out"
run_cmd "$wl" bench tiny "$work/good.c"
[ ! -s "$err" ] || fail "said on standard error: $(head -n 1 "$err")"

t "hostile words in what a kernel is called reach no terminal"
evil=$work/$(printf 'e\033]0;title\007\302\233x.c')
cp "$work/good.c" "$evil"
run_cmd "$wl" bench tiny "$evil" "$work/good.c"
expect_rc 0
expect_no "$(printf '[\033\007]')" "$out"
run_cmd "$wl" bench tiny "$evil" --json
expect_rc 0
expect_json kernels/0/file "$evil"
LC_ALL=C grep -q "$(printf '[\033\007\200-\377]')" "$out" && fail "more than ASCII"

finish
