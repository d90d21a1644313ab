# Common part of the shell tests: sourced, not run. A test is
#     . tests/lib.sh           (from the tree's root; begins with a fresh $WARPLOOP_HOME)
#     t "what must hold"; run_cmd ...; expect_rc 0; expect_out 'pattern'
#     finish
# TIMES=1 also prints how long each took.
# Prints a line for each failed test and one closing line "NAME: N passed, N failed, N skipped".

suite=$(basename "$0" .sh)
passed=0 failed=0 skipped=0 name='' bad=0
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${WARPLOOP_BIN:-$root/build/bin}
wl=$bin/warploop
work=$(mktemp -d "${TMPDIR:-/tmp}/warploop-$suite.XXXXXX") || exit 2
WARPLOOP_HOME=$work/home
WARPLOOP_KERNELS=$root/kernels
TZ=UTC LC_ALL=C.UTF-8
export WARPLOOP_HOME WARPLOOP_KERNELS TZ LC_ALL
unset WARPLOOP_PLAIN NO_COLOR
out=$work/out err=$work/err

close_test() {
    [ -z "$name" ] && return
    if [ "$bad" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    [ -n "${TIMES:-}" ] && printf '  %3d s  %s\n' $(($(date +%s) - t_began)) "$name"
    name=''
}

t() {
    close_test
    name=$1 bad=0 t_began=$(date +%s)
}

skip() {
    printf '  skipped %s: %s: %s\n' "$suite" "$name" "$1"
    name='' skipped=$((skipped + 1))
}

fail() {
    [ "$bad" = 0 ] && printf '  FAILED %s: %s\n' "$suite" "$name"
    bad=1
    printf '    %s\n' "$1"
}

# Run a command; its standard output and error lie in $out and $err, its status in $rc.
run_cmd() {
    timeout "${LIMIT:-60}" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
}

show_output() {
    sed 's/^/      out| /' "$out" | tail -n 12 | cut -c 1-240
    sed 's/^/      err| /' "$err" | tail -n 12 | cut -c 1-240
}

expect_rc() {
    [ "$rc" = "$1" ] && return
    fail "exit status $rc, expected $1"
    show_output
}

expect_out() {
    grep -qE -e "$1" "$out" && return
    fail "standard output lacks /$1/"
    show_output
}

expect_err() {
    grep -qE -e "$1" "$err" && return
    fail "standard error lacks /$1/"
    show_output
}

expect_no() {
    grep -qE -e "$1" "$2" || return 0
    fail "$2 holds /$1/, which it must not"
}

# The back end that only pretends: whole runs in milliseconds, with results that follow from the
# source (tests/fake/fakeback.c says how it is steered).
use_fake() {
    WARPLOOP_BACKEND_DIR=${bin%/bin}/test/fake
    export WARPLOOP_BACKEND_DIR
}

# A task "endless" with so many moves that no test sees its end (for the back end that pretends).
endless_task() {
    WARPLOOP_KERNELS=$work/kernels
    dir=$WARPLOOP_KERNELS/endless
    mkdir -p "$dir/c"
    body='void endless_fwd(int N, const float *x, float *y)
{
    for (int i = 0; i < N; i++)
        y[i] = 2 * x[i];
}'
    {
        printf '#include "endless.h"\n\n%s\n' "$body"
        for i in $(seq 60); do printf '#if M%d\nstatic int used%d;\n#endif\n' "$i" "$i"; done
    } >"$dir/c/moves.c"
    printf '#include "endless.h"\n\n%s\n' "$body" >"$dir/c/start.c"
    printf '#include "endless.h"\n\n%s\n' "$body" |
        sed 's/endless_fwd/endless_fwd_ref/; s/float \*y/double *y/' >"$dir/c/reference.c"
    {
        cat <<'TASK'
{"schema": 1, "name": "endless", "title": "Twice", "summary": "For tests.",
 "params": [{"name": "N", "kind": "dim"},
  {"name": "x", "kind": "input", "type": "f32", "shape": ["N"]},
  {"name": "y", "kind": "output", "type": "f32", "shape": ["N"], "soft": 1e-6, "hard": 1e-5}],
 "flop": "N", "bytes": "8*N",
 "shapes": {"scored": [{"name": "n1000", "dims": {"N": 1000}}], "check": [{"name": "n1", "dims": {"N": 1}}]},
 "families": [{"name": "ordinary", "class": "ordinary", "fill": {"x": {"dist": "normal"}}}],
 "backends": {"c": {"entry": "endless_fwd", "reference": "c/reference.c", "baseline": "c/start.c",
  "start": "c/start.c", "moves": "c/moves.c", "headers": ["stddef.h"]}},
 "moves": [
TASK
        for i in $(seq 60); do
            [ "$i" = 1 ] || echo ,
            printf '{"name": "m%d", "switch": "M%d", "title": "move %d", "why": "for tests", "gain": 1.1}' \
                "$i" "$i" "$i"
        done
        echo '], "target": 2}'
    } >"$dir/task.json"
}

# A value of the JSON in a file: json FILE PATH (tests/tool/json.c).
json() {
    "${bin%/bin}/test/tool/json" "$2" <"$1" 2>/dev/null
}

expect_json() {
    got=$(json "$out" "$1")
    [ "$got" = "$2" ] && return
    fail "JSON value $1 is \"$got\", expected \"$2\""
    show_output
}

# Run a command on a terminal: on_tty ROWS COLS STEP... -- COMMAND (tests/tool/pty.c). The screen at
# the end lies in $out.
on_tty() {
    rows=$1 cols=$2
    shift 2
    run_cmd "${bin%/bin}/test/tool/pty" "$rows" "$cols" "$((${LIMIT:-60} - 5))" "$@"
}

# Start a command in the background; its output lies in $work/bg.out, its pid is $bg. What still runs
# at the end of the suite is killed.
bg=
all_bg=
start_bg() {
    "$@" >"$work/bg.out" 2>"$work/bg.err" </dev/null &
    bg=$!
    all_bg="$all_bg $bg"
}

# Its children, those named $2 if that is given.
children() {
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        case $(tr '\0' ' ' <"/proc/$child/cmdline" 2>/dev/null) in
        *"${2:-}"*) echo "$child" ;;
        esac
    done
}

has_child() { [ -n "$(children "$@")" ]; }

# The pid of the process that drives a run, 0 none.
driver_of() {
    "$wl" show "$1" --json 2>/dev/null >"$work/driver"
    pid=$(json "$work/driver" pid)
    case $pid in
    [1-9]*) echo "$pid" ;;
    *) echo 0 ;;
    esac
}

driven() { [ "$(driver_of "$1")" != 0 ]; }
undriven() { [ "$(driver_of "$1")" = 0 ]; }

# How many versions of a run have their verdict: at least $2?
tried() {
    "$wl" show "$1" --json >"$work/tried" 2>/dev/null
    [ "$(json "$work/tried" calls)" -ge "$2" ] 2>/dev/null
}

state_is() {
    "$wl" show "$1" --json >"$work/state" 2>/dev/null
    [ "$(json "$work/state" state)" = "$2" ]
}

# Wait until a command succeeds, at most $1 seconds.
wait_for() {
    limit=$1
    shift
    tries=$((limit * 10))
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -le 0 ] && return 1
        sleep 0.1
    done
}

clean_up() {
    # shellcheck disable=SC2086
    [ -n "$all_bg" ] && kill -9 $all_bg 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# What follows needs what just failed: end here.
give_up() {
    fail "$1"
    [ -f "$work/bg.err" ] && sed 's/^/      bg| /' "$work/bg.out" "$work/bg.err" | tail -n 12
    finish
}

finish() {
    close_test
    echo "$suite: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}
