#!/bin/sh
# What can be wrong with the file of a run, its folder and its disk.
. "$(dirname "$0")/../lib.sh"
use_fake
tool=${bin%/bin}/test/tool
chmod 755 "$work"

"$wl" run tiny --plain --seed 3 --target 1000 >/dev/null 2>&1
file=$WARPLOOP_HOME/runs/tiny-1.warp

# Every command that reads and every one that writes answers with this status and says this.
all_refuse() {
    for c in show log best 'watch --plain' diff; do
        # shellcheck disable=SC2086
        run_cmd "$wl" ${c%% *} "$1" $([ "$c" = "${c#* }" ] || echo "${c#* }")
        expect_rc "$2"
        expect_err "$3"
    done
    for c in 'steer hello' 'goal hello'; do
        run_cmd "$wl" ${c% *} "$1" hello
        expect_rc "$2"
        expect_err "$3"
    done
    run_cmd "$wl" resume "$1" --plain
    expect_rc "$2"
    expect_err "$3"
    run_cmd "$wl" fork "$1"
    expect_rc "$2"
    expect_err "$3"
}

t "a run that is not there: the nearest is named"
run_cmd "$wl" show tiny-9
expect_rc 2
expect_err 'there is no run "tiny-9".*tiny-1'
all_refuse tyni-1 2 'there is no run "tyni-1"'
all_refuse "$work/none.warp" 2 "there is no file $work/none.warp"
run_cmd "$wl" fork tyni-1@1
expect_rc 2
run_cmd "$wl" pause tyni-1
expect_rc 2
run_cmd "$wl" submit tyni-1 "$root/kernels/tiny/c/start.c" --why x --strategy y
expect_rc 2

t "no runs at all"
run_cmd env WARPLOOP_HOME="$work/other" "$wl" show
expect_rc 2
expect_err 'no run'

t "an empty file, another program's file, a text"
: >"$work/empty.warp"
all_refuse "$work/empty.warp" 3 'is not a run of warploop'
"$tool/sql" "$work/other.warp" 'create table t(x)' >/dev/null
all_refuse "$work/other.warp" 3 'is not a run of warploop'
echo 'hello, world: this is no database, whatever its name says' >"$work/text.warp"
all_refuse "$work/text.warp" 3 'damaged or no run of warploop'

t "a truncated file, a file with a hole"
head -c 20000 "$file" >"$work/cut.warp"
for c in show log resume; do
    run_cmd "$wl" $c "$work/cut.warp"
    expect_rc 3
    expect_err 'damaged.*take a copy, then save what is readable with: sqlite3'
done
cp "$file" "$work/hole.warp"
size=$(stat -c %s "$file")
at=4096
while [ "$at" -lt "$size" ]; do
    cp "$file" "$work/hole.warp"
    dd if=/dev/urandom of="$work/hole.warp" bs=4096 seek=$((at / 4096)) count=1 conv=notrunc 2>/dev/null
    for c in show log best; do
        run_cmd "$wl" $c "$work/hole.warp"
        [ "$rc" -le 3 ] || fail "$c: exit status $rc with a hole at $at"
        [ "$rc" = 0 ] || [ -s "$err" ] || fail "$c fails without a word"
    done
    at=$((at + 16384))
done

t "a damaged run hides no other in ls"
cp "$work/text.warp" "$WARPLOOP_HOME/runs/text-1.warp"
run_cmd "$wl" ls
expect_rc 0
expect_out '^tiny-1 '
expect_out '^text-1 +unreadable: '
run_cmd "$wl" ls --json
expect_rc 0
expect_json '#' 2
run_cmd "$wl"
expect_rc 0
rm "$WARPLOOP_HOME/runs/text-1.warp"

t "a file of a newer schema"
cp "$file" "$work/newer.warp"
"$tool/sql" "$work/newer.warp" 'pragma user_version = 99' >/dev/null
all_refuse "$work/newer.warp" 3 'written by a newer warploop \(file schema 99, this program knows [0-9]+\)'

t "an event that this version does not know is counted, not a failure"
cp "$file" "$work/odd.warp"
"$tool/sql" "$work/odd.warp" "insert into event(seq, time, kind, code, id, ref, n) select max(seq) + 1, max(time), 200, 0, 0, 0, 0 from event" \
    >"$out" 2>"$err" || fail "$(cat "$err")"
run_cmd "$wl" show "$work/odd.warp"
expect_rc 0
run_cmd "$wl" log "$work/odd.warp"
expect_rc 0

t "history cannot be edited, not even by another program"
cp "$file" "$work/edit.warp"
"$tool/sql" "$work/edit.warp" "update event set x = 99 where kind > 0" >"$out" 2>"$err" &&
    fail "an event was changed"
"$tool/sql" "$work/edit.warp" "delete from event" >"$out" 2>"$err" && fail "events were deleted"

t "locked by another program: the reader reads, the asker waits and says so, the run goes on after it"
start_bg "$tool/sql" "$file" 'begin immediate' 8
wait_for 5 grep -q done "$work/bg.out"
run_cmd "$wl" show tiny-1
expect_rc 0
run_cmd "$wl" steer tiny-1 hello
expect_rc 3
expect_err 'locked|busy|another program'
wait "$bg"
run_cmd "$wl" steer tiny-1 hello
expect_rc 0
endless_task
WARPLOOP_FAKE_BENCH_MS=100
export WARPLOOP_FAKE_BENCH_MS
start_bg "$wl" run endless --headless --target 100000
engine=$bg
wait_for 10 tried endless-1 2 || give_up "it does not start"
start_bg "$tool/sql" "$WARPLOOP_HOME/runs/endless-1.warp" 'begin immediate' 7
wait "$bg"
n=$("$wl" log endless-1 | wc -l)
goes_on() { [ "$("$wl" log endless-1 | wc -l)" -gt $((n + 10)) ]; }
wait_for 20 goes_on || fail "the run does not go on: $(tail -n 2 "$work/bg.err")"
"$wl" stop endless-1 >/dev/null
wait "$engine"

t "the file deleted under a running engine: it ends with a message, not a crash"
start_bg "$wl" resume endless-1 --headless
wait_for 10 driven endless-1
rm "$WARPLOOP_HOME/runs/endless-1.warp"
sleep 1
kill -TERM "$bg"
wait "$bg"
rc=$?
[ "$rc" -lt 128 ] || [ "$rc" = 130 ] || fail "exit status $rc"

if [ "$(id -u)" = 0 ] && setpriv --version >/dev/null 2>&1; then
    plain_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
    # shellcheck disable=SC2086
    $plain_user test -x "$wl" || plain_user=
elif [ "$(id -u)" != 0 ]; then
    plain_user=env
else
    plain_user=
fi

t "a run on a read-only medium: everything can be read, nothing can be asked"
if [ -z "$plain_user" ]; then
    skip "root may write everywhere, and setpriv or a folder that others may enter is missing"
else
    mkdir -p "$work/ro/runs"
    cp "$file" "$work/ro/runs/tiny-1.warp"
    [ "$(id -u)" = 0 ] && chown -R 65534 "$work/ro"
    chmod 400 "$work/ro/runs/tiny-1.warp"
    chmod 555 "$work/ro/runs" "$work/ro"
    for c in ls show log best watch; do
        # shellcheck disable=SC2086
        run_cmd env WARPLOOP_HOME="$work/ro" $plain_user "$wl" $c
        expect_rc 0
    done
    for c in resume 'steer tiny-1 hello' 'run tiny --plain' fork; do
        # shellcheck disable=SC2086
        run_cmd env WARPLOOP_HOME="$work/ro" WARPLOOP_KERNELS="$root/kernels" $plain_user "$wl" $c
        expect_rc 3
        expect_err 'read-only|cannot be written|[Pp]ermission|not permitted|no right'
    done
    chmod -R u+w "$work/ro"
fi

t "a home that is missing is made; one that cannot be made says which and what to do"
run_cmd env WARPLOOP_HOME="$work/new/deep/home" "$wl" ls
expect_rc 0
[ -d "$work/new/deep/home/runs" ] || fail "it was not made"
: >"$work/file"
run_cmd env WARPLOOP_HOME="$work/file/home" "$wl" ls
expect_rc 3
expect_err "WARPLOOP_HOME to choose another.*$work/file"
WARPLOOP_KERNELS=$root/kernels
run_cmd env WARPLOOP_HOME="$work/file/home" "$wl" run tiny --plain
expect_rc 3
expect_err "WARPLOOP_HOME"

t "a file system without WAL: the run works all the same, and is watched"
cat >"$work/nowal.c" <<'C'
/* Shared memory files cannot be mapped: what some network file systems and 9p answer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = fd < 0 ? -1 : readlink(link, path, sizeof path);
    if (len > 4 && memcmp(path + len - 4, "-shm", 4) == 0) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return ((void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap"))(at, n, prot, flags,
                                                                                  fd, from);
}
void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    return mmap(at, n, prot, flags, fd, from);
}
C
if gcc -shared -fPIC -w -o "$work/nowal.so" "$work/nowal.c" -ldl 2>"$err"; then
    WARPLOOP_KERNELS=$root/kernels
    WARPLOOP_FAKE_BENCH_MS=20
    run_cmd env LD_PRELOAD="$work/nowal.so" "$wl" run tiny --plain --seed 3 --target 1000
    expect_rc 0
    expect_out ': ended: '
    [ ! -e "$WARPLOOP_HOME/runs/tiny-2.warp-wal" ] || fail "it used WAL"
    for c in show log best 'steer tiny-2 hello' watch; do
        # shellcheck disable=SC2086
        run_cmd env LD_PRELOAD="$work/nowal.so" "$wl" $c
        expect_rc 0
    done
    run_cmd "$wl" show tiny-2
    expect_rc 0
    # And a file that comes from a machine with WAL, whose last user was killed.
    start_bg "$tool/sql" "$file" 'begin; select count(*) from event' 60
    wait_for 5 grep -q done "$work/bg.out"
    run_cmd "$wl" steer tiny-1 again
    kill -9 "$bg"
    wait "$bg" 2>/dev/null
    [ -s "$file-wal" ] || fail "the test's file is complete: it shows nothing"
    for c in 'show tiny-1' 'steer tiny-1 hello' 'show tiny-1' 'resume tiny-1 --plain'; do
        # shellcheck disable=SC2086
        run_cmd env LD_PRELOAD="$work/nowal.so" "$wl" $c
        expect_rc 0
    done
else
    skip "no compiler for the library that pretends such a file system"
fi

t "disk full: the run pauses, loses nothing, and goes on when there is room"
mkdir "$work/small"
if mount -t tmpfs -o size=900k warploop-test "$work/small" 2>/dev/null; then
    endless_task
    WARPLOOP_FAKE_BENCH_MS=20
    start_bg env WARPLOOP_HOME="$work/small" WARPLOOP_FAKE_OBJECT_BYTES=40000 \
        "$wl" run endless --headless --target 100000
    small() { env WARPLOOP_HOME="$work/small" "$@"; }
    told() { small "$wl" show endless-1 --json >"$work/small.json" 2>/dev/null; }
    full() { [ "$(df --output=avail "$work/small" | tail -n 1)" -lt 60 ]; }
    wait_for 30 full || fail "the disk does not fill: $(df "$work/small" | tail -n 1)"
    sleep 2
    kill -0 "$bg" 2>/dev/null || fail "the engine has ended: $(cat "$work/bg.err")"
    told || fail "the run cannot be read"
    n=$(json "$work/small.json" calls)
    run_cmd env WARPLOOP_HOME="$work/small" "$wl" run endless --plain
    expect_rc 3
    expect_err 'full|[Nn]o space'
    mount -o remount,size=30m "$work/small"
    more() { told && [ "$(json "$work/small.json" calls)" -gt "$((n + 3))" ]; }
    wait_for 30 more || fail "it does not go on: $(small "$wl" log -n 3 endless-1)"
    small "$wl" stop endless-1 >/dev/null
    wait "$bg"
    run_cmd env WARPLOOP_HOME="$work/small" "$wl" log endless-1
    expect_out 'the log could not be written for .*; the run waited, nothing was lost'
    grep -q 'the run waits; nothing is lost' "$work/bg.err" || fail "not said: $(cat "$work/bg.err")"
    awk '$1 != NR { exit 1 }' "$out" || fail "events are missing"
    umount "$work/small"
else
    skip "no right to mount a small file system (the simulated one is in test_log_faults)"
fi

finish
