#!/bin/sh
# Terminals that are tiny, unknown, dumb or none.
. "$(dirname "$0")/../lib.sh"
use_fake
"$wl" run tiny --plain --seed 3 --target 1000 >/dev/null 2>&1
TERM=xterm-256color
export TERM

t "a terminal: the workbench; q or Q leaves it with the terminal put right"
on_tty 40 120 wait:tiny-1 send:Q -- "$wl" watch tiny-1
expect_rc 0
expect_out '^tiny-1: left; look again: warploop watch tiny-1'
expect_out '^modes: cooked, main, cursor$'

for size in '1 1' '1 200' '200 1' '2 2' '5 20' '24 80' '200 500'; do
    t "a terminal of $size: no crash, it can be left"
    # shellcheck disable=SC2086
    on_tty $size sleep:400 send:Q -- "$wl" watch tiny-1
    expect_rc 0
    expect_out '^modes: cooked, main'
done

t "resized to nothing and back"
on_tty 40 120 wait:tiny-1 size:1x1 sleep:300 size:40x120 wait:tiny-1 send:Q -- "$wl" watch tiny-1
expect_rc 0

t "TERM=dumb: plain lines, and why"
TERM=dumb on_tty 60 100 -- "$wl" watch tiny-1
expect_rc 0
expect_out 'plain lines: TERM is dumb'
expect_out 'look again: warploop show tiny-1'
expect_out '^modes: cooked, main'

t "TERM unset: plain lines, and why"
unset TERM
on_tty 60 100 -- "$wl" watch tiny-1
expect_rc 0
expect_out 'plain lines: TERM is not set'
expect_out 'look again: warploop show tiny-1'

t "TERM empty"
TERM='' on_tty 60 100 -- "$wl" watch tiny-1
expect_rc 0
expect_out 'plain lines: TERM is not set'

t "TERM unknown: the workbench of a plain terminal, or plain lines and why"
TERM=nonsense-terminal
export TERM
on_tty 60 100 sleep:500 send:Q -- "$wl" watch tiny-1
expect_rc 0
expect_out 'look again: warploop '
expect_out '^modes: cooked, main'

for term in vt100 linux xterm screen tmux-256color; do
    TERM=$term
    t "TERM=$term: the workbench or plain lines, never a crash"
    on_tty 30 100 sleep:500 send:Q -- "$wl" watch tiny-1
    expect_rc 0
    expect_out '^modes: cooked'
done
TERM=xterm-256color

t "not a terminal: plain lines without a control character"
run_cmd "$wl" watch tiny-1
expect_rc 0
LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$out" && fail "control characters"
expect_out 'look again'

t "standard output to a file, input from a terminal"
on_tty 24 80 -- sh -c "'$wl' watch tiny-1 >'$work/plain'"
expect_rc 0
grep -q 'look again' "$work/plain" || fail "no plain lines in the file"

t "--plain, WARPLOOP_PLAIN and NO_COLOR on a terminal"
on_tty 60 100 -- "$wl" watch tiny-1 --plain
expect_rc 0
expect_out 'look again: warploop show tiny-1'
WARPLOOP_PLAIN=1 on_tty 60 100 -- "$wl" watch tiny-1
expect_rc 0
expect_out 'plain lines: WARPLOOP_PLAIN is set'
on_tty 24 100 sleep:400 send:Q -- env NO_COLOR=1 "$wl" watch tiny-1
expect_rc 0

t "--ascii, --theme, a theme that is not there"
on_tty 30 100 wait:tiny-1 send:Q -- "$wl" watch tiny-1 --ascii
expect_rc 0
on_tty 30 100 wait:tiny-1 send:Q -- "$wl" watch tiny-1 --theme light
expect_rc 0
on_tty 30 100 "wait:there is no theme nosuch" send:Q -- "$wl" watch tiny-1 --theme nosuch
expect_rc 0

t "a locale without UTF-8"
on_tty 30 100 sleep:500 send:Q -- env LC_ALL=C "$wl" watch tiny-1
expect_rc 0
on_tty 30 100 sleep:500 send:Q -- env LC_ALL=nonsense.UTF-8 "$wl" watch tiny-1
expect_rc 0

endless_task
WARPLOOP_FAKE_BENCH_MS=100
export WARPLOOP_FAKE_BENCH_MS

t "a run in the workbench, left: it goes on without a terminal, and says so"
on_tty 40 120 wait:endless-1 sleep:500 send:Q -- "$wl" run endless --target 100000
expect_rc 0
expect_out 'endless-1 goes on as pid [0-9]+ without a terminal'
expect_out '^modes: cooked, main, cursor$'
driven endless-1 || fail "it does not go on"

t "attach on a terminal; hang-up ends the looking, not the run"
on_tty 40 120 wait:endless-1 hangup -- "$wl" attach endless-1
[ "$rc" != 124 ] || fail "it does not end"
driven endless-1 || fail "the run ended with the terminal"
"$wl" stop endless-1 >/dev/null
wait_for 10 undriven endless-1 || fail "it does not stop"

t "the terminal of a run's own goes away: the run goes on"
on_tty 40 120 wait:endless-1 sleep:300 hangup -- "$wl" resume endless-1
wait_for 5 driven endless-1 || fail "the run ended with the terminal"
"$wl" stop endless-1 >/dev/null
wait_for 10 undriven endless-1 || fail "it does not stop"

t "kill -9 of a run with the workbench: the terminal is put right and the way on is said"
killer() {
    wait_for 15 driven endless-1 || exit
    sleep 1
    kill -9 "$(driver_of endless-1)"
}
killer &
on_tty 40 120 wait:endless-1 -- "$wl" resume endless-1
expect_rc 137
expect_out 'ended by signal 9 .*; nothing is lost'
expect_out 'go on with it: warploop resume endless-1'
expect_out '^modes: cooked, main, cursor$'

t "Ctrl-C in plain lines stops at the next safe point"
on_tty 40 120 wait:goes "sleep:300" "send:$(printf '\003')" -- "$wl" resume endless-1 --plain
expect_rc 130
expect_out 'stopping at the next safe point; once more: at once'
expect_out 'look again: warploop show endless-1'
state_is endless-1 stopped || fail "state $(json "$work/state" state)"

finish
