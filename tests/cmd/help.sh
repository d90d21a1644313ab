#!/bin/sh
# What the program says of itself, and what it says to those who mistype.
. "$(dirname "$0")/../lib.sh"
use_fake

commands='run attach watch resume pause stop steer goal fork ls show log diff best submit bench task
doctor demo help version'

t "alone it says what one can do"
run_cmd "$wl"
expect_rc 0
expect_out 'No runs yet'
expect_out 'warploop demo '
expect_out 'warploop run TASK'
expect_out 'warploop doctor'
expect_out 'tasks:.* kda .*tiny'

t "--help, -h and help name every command, the exit codes and the environment"
for how in --help -h help; do
    run_cmd "$wl" $how
    expect_rc 0
    for c in $commands; do expect_out "^  $c( |\$)"; done
    expect_out 'Exit codes: 0 done'
    expect_out 'WARPLOOP_HOME'
done

for c in $commands; do
    t "$c --help"
    run_cmd "$wl" "$c" --help
    expect_rc 0
    expect_out "^usage: warploop $c"
    expect_out '^  -h, --help '
    expect_out '^Exit codes:'
    expect_no '.{101}' "$out"
    cp "$out" "$work/one"
    run_cmd "$wl" help "$c"
    expect_rc 0
    cmp -s "$out" "$work/one" || fail "help $c and $c --help differ"
    run_cmd "$wl" "$c" -h
    cmp -s "$out" "$work/one" || fail "$c -h and $c --help differ"

    t "$c refuses an option that it does not know"
    run_cmd "$wl" "$c" --no-such-option
    expect_rc 2
    expect_err "^warploop: $c: unknown option --no-such-option \\(see warploop $c --help\\)"
done

t "--help is heard wherever it stands, and before anything else is checked"
run_cmd "$wl" run --calls nonsense --help
expect_rc 2
run_cmd "$wl" diff a b c d e --help
expect_rc 0
expect_out '^usage: warploop diff'

t "the list of commands fits 80 columns"
run_cmd "$wl" --help
expect_no '.{81}' "$out"

t "help keys"
run_cmd "$wl" help keys
expect_rc 0
expect_out 'Ctrl-L'
expect_out 'pause'

t "unknown command: the nearest is named"
run_cmd "$wl" reusme
expect_rc 2
expect_err 'unknown command "reusme"; nearest is "resume"'
run_cmd "$wl" xyzzy
expect_rc 2
expect_err 'unknown command "xyzzy" \(see warploop --help\)'
run_cmd "$wl" help stoop
expect_rc 2
expect_err 'nearest is stop'

t "unknown option: the nearest is named"
run_cmd "$wl" run tiny --cals 3
expect_rc 2
expect_err 'unknown option --cals; nearest is --calls'
run_cmd "$wl" show --jsn
expect_rc 2
expect_err 'nearest is --json'
run_cmd "$wl" --versoin
expect_rc 2

t "a short option that is not there"
run_cmd "$wl" show -z
expect_rc 2
expect_err 'unknown option -z'

t "a value that is missing, not a number, out of range, not among the choices"
run_cmd "$wl" run tiny --calls
expect_rc 2
expect_err 'calls needs a value'
for value in x 1.5 '' ' 3' 3x 1e3 99999999999999999999 nan; do
    run_cmd "$wl" run tiny --calls "$value"
    expect_rc 2
    expect_err 'expected a whole number'
done
run_cmd "$wl" run tiny --hours -1
expect_rc 2
expect_err 'hours -1: expected a number from'
run_cmd "$wl" run tiny --hours inf
expect_rc 2
run_cmd "$wl" run tiny --jobs 65
expect_rc 2
expect_err 'from 1 to 64'
run_cmd "$wl" run tiny --jail maybe
expect_rc 2
expect_err 'expected one of auto\|none'
run_cmd "$wl" run tiny --backend triton
expect_rc 2
expect_err 'expected one of c'

t "a flag takes no value"
run_cmd "$wl" ls --json=yes
expect_rc 2
expect_err 'json takes no value'

t "too few and too many arguments: the usage is shown"
run_cmd "$wl" run
expect_rc 2
expect_err 'run: TASK is missing; usage: warploop run TASK'
run_cmd "$wl" steer
expect_rc 2
expect_err 'usage: warploop steer RUN TEXT'
run_cmd "$wl" steer r use wider vectors
expect_rc 2
expect_err 'put a text with blanks in quotes'
run_cmd "$wl" ls extra
expect_rc 2
expect_err 'unexpected "extra"; usage: warploop ls$'
run_cmd "$wl" submit r
expect_rc 2
expect_err 'submit: FILE is missing; usage: warploop submit RUN FILE'

t "none of that made a run"
run_cmd "$wl" ls
expect_rc 0
expect_out 'no runs yet'

t "version"
for how in version --version -V; do
    run_cmd "$wl" $how
    expect_rc 0
    expect_out '^warploop [0-9]+\.[0-9]+.*log schema [0-9]+'
done

t "output that cannot be written is said, once, and the exit status is 3"
if [ -e /dev/full ]; then
    "$wl" --help >/dev/full 2>"$err"
    rc=$?
    : >"$out"
    expect_rc 3
    expect_err 'cannot write to standard output'
    [ "$(wc -l <"$err")" = 1 ] || fail "said more than once"
else
    skip "there is no /dev/full"
fi

t "closed descriptors are no accident"
"$wl" --help <&- >"$out" 2>"$err"
rc=$?
expect_rc 0
"$wl" ls >&- 2>"$err"
rc=$?
[ "$rc" = 0 ] || [ "$rc" = 3 ] || fail "exit status $rc"
"$wl" nonsense 2>&-
rc=$?
expect_rc 2

t "a reader that goes away ends it quietly"
{ "$wl" --help; echo "$?" >"$work/rc"; } 2>"$err" | head -n 1 >"$out"
expect_out 'warploop'
[ ! -s "$err" ] || fail "said: $(head -n 1 "$err")"

finish
