#!/bin/sh
# warploop doctor: what this machine has and lacks.
. "$(dirname "$0")/../lib.sh"

t "doctor looks at everything that a run needs"
run_cmd "$wl" doctor
[ "$rc" = 0 ] || [ "$rc" = 1 ] || fail "exit status $rc"
for what in compiler 'jail of builds' processor 'peak of a core' 'jail of timed calls' counters \
    runs tasks terminal; do
    expect_out "^(ok|weak|missing) +$what "
done
expect_out 'everything|missing'

t "doctor --json"
run_cmd "$wl" doctor --json
[ "$rc" = 0 ] || [ "$rc" = 1 ] || fail "exit status $rc"
[ "$(json "$out" '#')" -ge 9 ] || fail "few rows"
expect_json 0/what compiler

t "what is missing makes it exit with 1 and names the cure"
run_cmd env WARPLOOP_BACKEND_DIR="$work/none" "$wl" doctor
expect_rc 1
expect_out '^missing +warploop-build'
expect_out '-> make'
mkdir "$work/empty"
run_cmd env WARPLOOP_KERNELS="$work/empty" "$wl" doctor
expect_rc 1
expect_out '^missing +tasks'
expect_out 'WARPLOOP_KERNELS=FOLDER'

t "a home that cannot be"
: >"$work/file"
run_cmd env WARPLOOP_HOME="$work/file/home" "$wl" doctor
expect_rc 1
expect_out '^missing +runs +.*file'

t "a terminal that carries no workbench"
run_cmd env TERM=dumb "$wl" doctor
expect_out '^weak +terminal +TERM=dumb'
run_cmd env -u TERM "$wl" doctor
expect_out 'TERM=\(not set\)'

finish
