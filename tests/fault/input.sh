#!/bin/sh
# What people and files say wrongly: tasks, versions, task.json, long and odd texts.
. "$(dirname "$0")/../lib.sh"
use_fake

t "an unknown task: the nearest and all that there are"
run_cmd "$wl" run tinny --plain
expect_rc 2
expect_err 'there is no task "tinny"; did you mean "tiny"\? there are: kda, .*tiny'
run_cmd "$wl" task check knda
expect_rc 2
run_cmd "$wl" demo --task nothing
expect_rc 2
expect_err 'there is no task "nothing"'

t "a folder without a task.json"
mkdir "$work/empty"
run_cmd "$wl" run "$work/empty" --plain
expect_rc 2
expect_err "$work/empty: there is no task.json in this folder"

t "an unknown agent, a replay of nothing"
run_cmd "$wl" run tiny --plain --agent turner
expect_rc 2
expect_err 'agent.*tuner'
run_cmd "$wl" run tiny --plain --agent replay:none.warp
expect_rc 2
expect_err 'none.warp'

t "none of that made a run"
run_cmd "$wl" ls
expect_out 'no runs yet'

# edit NAME SED-EXPRESSION: a copy of tiny with one thing wrong.
edit() {
    rm -rf "$work/kernels"
    mkdir -p "$work/kernels"
    cp -r "$root/kernels/tiny" "$work/kernels/tiny"
    sed "$1" "$root/kernels/tiny/task.json" >"$work/kernels/tiny/task.json"
    cmp -s "$root/kernels/tiny/task.json" "$work/kernels/tiny/task.json" && fail "edit $1 changes nothing"
    WARPLOOP_KERNELS=$work/kernels run_cmd "$wl" run tiny --plain
}

# at LINE-OF-PATTERN: the message names the file and this line.
named() {
    line=$(grep -nE -m 1 -e "$1" "$work/kernels/tiny/task.json" | cut -d: -f1)
    expect_rc 2
    expect_err "$work/kernels/tiny/task.json:$line: .*$2"
}

t "task.json that is no JSON: file and line"
edit 's/"constants": {},/"constants": {,/'
named '"constants"' 'not valid JSON at column [0-9]+'
edit '$d'
expect_rc 2
expect_err 'task.json:[0-9]+: not valid JSON'

t "a field that is missing, unknown, of another type, out of range: file, line, field"
edit '/"flop":/d'
expect_rc 2
expect_err 'task.json:[0-9]+: .*flop'
edit 's/"margin":/"marign":/'
named 'marign' 'marign.*did you mean "margin"'
edit 's/"margin": 0.005/"margin": "much"/'
named '"margin"' 'margin.*number'
edit 's/"soft": 1e-6, "hard": 1e-5, "block_axis"/"soft": 1e-6, "hard": -1, "block_axis"/'
named '"hard": -1' 'hard.*from'
edit 's/"schema": 1/"schema": 2/'
named '"schema"' 'schema'
edit 's/"kind": "output"/"kind": "outptu"/'
named 'outptu' 'kind'

t "names that lead nowhere: a shape's dimension, an expression, a file, a move, a header"
edit 's/"shape": \["T", "N"\]}/"shape": ["T", "M"]}/'
named '"M"' 'M'
edit 's/"flop": "8\*T\*N"/"flop": "8*T*"/'
named '"flop"' 'flop'
edit 's#"c/baseline.c"#"c/basline.c"#'
named 'basline' 'basline'
edit 's/"requires": \["interchange"\]/"requires": ["interchagne"]/'
named 'interchagne' 'did you mean "interchange"'
edit 's#"c/start.c"#"../../../etc/passwd"#'
named 'passwd' ''
edit 's/"dims": {"T": 512, "N": 480}/"dims": {"T": 512, "N": 480000000}/'
expect_rc 2
expect_err 'task.json:[0-9]+: .*at most 4 GiB; tensor x is larger for shape "t512n480"'

t "a task.json of 3 MB, of binary bytes, that is a folder"
rm -rf "$work/kernels/tiny/task.json"
head -c 3000000 /dev/zero | tr '\0' ' ' >"$work/kernels/tiny/task.json"
WARPLOOP_KERNELS=$work/kernels run_cmd "$wl" run tiny --plain
expect_rc 2
expect_err 'tiny'
head -c 3000 /dev/urandom >"$work/kernels/tiny/task.json"
WARPLOOP_KERNELS=$work/kernels run_cmd "$wl" run tiny --plain
expect_rc 2
rm "$work/kernels/tiny/task.json"
mkdir "$work/kernels/tiny/task.json"
WARPLOOP_KERNELS=$work/kernels run_cmd "$wl" run tiny --plain
[ "$rc" = 2 ] || [ "$rc" = 3 ] || fail "exit status $rc"
[ -s "$err" ] || fail "fails without a word"

t "none of that made a run either"
run_cmd "$wl" ls
expect_out 'no runs yet'

t "a task that changes under a run: said at resume, the run is not mixed up"
rm -rf "$work/kernels"
mkdir "$work/kernels"
cp -r "$root/kernels/tiny" "$work/kernels/tiny"
WARPLOOP_KERNELS=$work/kernels
"$wl" run tiny --plain --seed 3 --target 1000 --calls 2 >/dev/null 2>&1
sed -i 's/"flop": "8\*T\*N"/"flop": "9*T*N"/' "$work/kernels/tiny/task.json"
run_cmd "$wl" resume tiny-1 --plain --calls 9
[ "$rc" != 0 ] || expect_out 'task'
cat "$out" "$err" >"$work/both"
grep -qE 'task.*chang|chang.*task|another task|identity' "$work/both" || {
    fail "the change is not said"
    show_output
}
WARPLOOP_KERNELS=$root/kernels

t "steer of 1 MB is taken, of one byte more is refused"
head -c 1048576 /dev/zero | tr '\0' x >"$work/text"
"$wl" run tiny --plain --seed 3 >/dev/null 2>&1
run=tiny-2
"$wl" steer $run - <"$work/text" >"$out" 2>"$err"
rc=$?
expect_rc 0
echo x >>"$work/text"
"$wl" steer $run - <"$work/text" >"$out" 2>"$err"
rc=$?
expect_rc 2
expect_err 'the text has 1048578 bytes; at most 1048576 are taken'

t "a text of 50 MB is refused without being kept in memory"
head -c 50000000 /dev/zero | tr '\0' x | (ulimit -v 400000; "$wl" steer $run -) >"$out" 2>"$err"
rc=$?
expect_rc 2
expect_err 'the text has [0-9]+ bytes'

t "empty and blank texts, NUL bytes"
run_cmd "$wl" steer $run ''
expect_rc 2
expect_err 'the text is empty'
run_cmd "$wl" steer $run '    '
expect_rc 2
run_cmd "$wl" steer $run -
expect_rc 2
printf 'a\0b' | "$wl" steer $run - >"$out" 2>"$err"
rc=$?
expect_rc 2
expect_err 'NUL byte at offset 1'
run_cmd "$wl" goal $run '  '
expect_rc 2

t "control characters and invalid UTF-8 are kept, and never reach a terminal"
printf 'red \033[31mand \007 bell, title \033]0;x\007, c1 \302\233 31m, bad \377\376 end of odd' >"$work/odd"
"$wl" steer $run - <"$work/odd" >"$out" 2>"$err"
rc=$?
expect_rc 0
"$wl" goal $run "$(printf 'goal \033[2J\007 of odd')" --calls 40 >"$out" 2>"$err" || fail "goal refused"
run_cmd "$wl" resume $run --plain --target 1000
expect_rc 0
for c in "log $run" "log $run --body" "show $run" "goal $run" "log $run --grep odd" ls "watch $run"; do
    # shellcheck disable=SC2086
    run_cmd "$wl" $c
    expect_rc 0
    LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$out" && fail "$c prints control characters"
    iconv -f UTF-8 -t UTF-8 "$out" >/dev/null 2>&1 || fail "$c prints invalid UTF-8"
    LC_ALL=C grep -q "$(printf '\302[\200-\237]')" "$out" && fail "$c prints C1 controls"
done
run_cmd "$wl" log $run --grep "end of odd"
expect_rc 0
expect_out 'red'

t "odd words on the command line are shown fit for a terminal"
run_cmd "$wl" "$(printf 'x\033[31m')"
expect_rc 2
LC_ALL=C grep -q "$(printf '\033')" "$err" && fail "an escape character came through"
run_cmd "$wl" show "$(printf 'x\033[31m\377')"
expect_rc 2
LC_ALL=C grep -q "$(printf '\033')" "$err" && fail "an escape character came through"
run_cmd "$wl" run "$(printf '\033]0;t\007')"
expect_rc 2
LC_ALL=C grep -q "$(printf '[\033\007]')" "$err" && fail "an escape character came through"

t "very long words"
long=$(head -c 100000 /dev/zero | tr '\0' y)
for c in "$long" "show $long" "run $long" "show --$long" "show --version $long" "run tiny --calls $long"; do
    # shellcheck disable=SC2086
    run_cmd "$wl" $c
    expect_rc 2
    [ "$(wc -c <"$err")" -lt 3000 ] || fail "an endless message"
done

finish
