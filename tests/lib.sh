# Common part of the shell tests: sourced, not run. A test is
#     . tests/lib.sh           (from the tree's root; begins with a fresh $WARPLOOP_HOME)
#     t "what must hold"; run_cmd ...; expect_rc 0; expect_out 'pattern'
#     finish
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
    name=''
}

t() {
    close_test
    name=$1 bad=0
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
    sed 's/^/      out| /' "$out" | head -n 12
    sed 's/^/      err| /' "$err" | head -n 12
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

finish() {
    close_test
    rm -rf "$work"
    echo "$suite: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}
