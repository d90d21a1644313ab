#!/bin/sh
# warploop task: the tasks that there are, one of them, and the proof that its check can be trusted.
. "$(dirname "$0")/../lib.sh"

t "task ls: every task with its title"
run_cmd "$wl" task ls
expect_rc 0
expect_out '^kda +[A-Z]'
expect_out '^tiny +A damped recurrence over many channels$'
run_cmd "$wl" task ls --json
expect_rc 0
[ "$(json "$out" '#')" -ge 2 ] || fail "fewer than two"
expect_json 0/task kda

t "a task that cannot be read hides no other"
mkdir -p "$work/kernels"
cp -r "$root/kernels/tiny" "$work/kernels/"
mkdir "$work/kernels/broken"
echo '{"schema": 1,' >"$work/kernels/broken/task.json"
run_cmd env WARPLOOP_KERNELS="$work/kernels" "$wl" task ls
expect_rc 0
expect_out '^tiny +A damped'
expect_out '^broken +.*task.json:'

t "no tasks at all"
mkdir "$work/empty"
run_cmd env WARPLOOP_KERNELS="$work/empty" "$wl" task ls
expect_rc 0
expect_out 'no tasks found: set WARPLOOP_KERNELS'

t "task show: what a kernel has to be"
for task in tiny kda; do
    run_cmd "$wl" task show $task
    expect_rc 0
    expect_out "^$task: "
    expect_out "^A kernel includes \"$task.h\":"
    expect_out "void ${task}_fwd\\(int"
    expect_out '^Headers it may include: '
    expect_out '^  scored '
    expect_out '^  hidden '
    expect_out '^Input families:'
    expect_out '^Limits'
    expect_out '^Moves and tunables'
done

t "task show --json: the file itself"
run_cmd "$wl" task show tiny --json
expect_rc 0
expect_json name tiny
expect_json backends/c/entry tiny_fwd

t "a task may be named by its folder"
run_cmd "$wl" task show "$root/kernels/tiny"
expect_rc 0
expect_out '^tiny: '

t "mistyped: the nearest is named"
run_cmd "$wl" task shwo tiny
expect_rc 2
expect_err 'expected ls, show, check or new, not "shwo"; nearest is show'
run_cmd "$wl" task show
expect_rc 2
expect_err "expected the TASK's name"
run_cmd "$wl" task show tinny
expect_rc 2
expect_err 'there is no task "tinny".*tiny'

t "task check: honest kernels pass, cheats are refused"
LIMIT=300 run_cmd "$wl" task check tiny --combinations 4
expect_rc 0
expect_out '^ok +honest +'
expect_out '^ok +combination +'
expect_out '^ok +cheat +.*zero'
expect_out '^ok +cheat +.*dropped-history'
expect_no '^FAILED' "$out"
expect_out '^tiny: honest kernels pass and cheats fail: [0-9]+ as they should, 0 not$'

t "task check finds a check that lets a cheat through: exit status 1"
sed '/"name": "long-memory"/,/}}},/d; s/"hard": 1e-5/"hard": 0.3/g; s/"soft": 1e-6/"soft": 0.3/g' \
    "$root/kernels/tiny/task.json" >"$work/kernels/tiny/task.json"
LIMIT=300 run_cmd env WARPLOOP_KERNELS="$work/kernels" "$wl" task check tiny --combinations 0
expect_rc 1
expect_out '^FAILED +cheat'
expect_out 'cheats fail: [0-9]+ as they should, [1-9][0-9]* not$'

finish
