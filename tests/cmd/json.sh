#!/bin/sh
# --json: what every command prints for scripts is JSON, ASCII, with numbers as numbers and what is
# absent as null.
. "$(dirname "$0")/../lib.sh"
use_fake

# The lines of $out are each JSON; line $1 (or "last") lies in $out afterwards.
line() {
    while read -r one; do
        printf '%s\n' "$one" | "${bin%/bin}/test/tool/json" >/dev/null 2>&1 ||
            { fail "no JSON: $(printf %s "$one" | cut -c 1-200)"; break; }
    done <"$out"
    if [ "$1" = last ]; then tail -n 1 "$out" >"$work/line"; else sed -n "$1p" "$out" >"$work/line"; fi
    cp "$work/line" "$out"
}

ascii() {
    LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177-\377]')" "$out" && fail "more than ASCII"
}

t "version"
run_cmd "$wl" version --json
expect_rc 0
expect_json log_schema 1
expect_json warploop "$("$wl" version | cut -d ' ' -f 2)"

t "run --json: the run, its events from the first on, the run"
run_cmd "$wl" run tiny --json --seed 8999999999999999 --calls 6 --target 1000 --goal "$(printf 'fast\302\233 \303\274')"
expect_rc 0
[ ! -s "$err" ] || fail "said on standard error: $(head -n 1 "$err")"
ascii
cp "$out" "$work/stream"
line 1
expect_json kind run
expect_json run tiny-1
expect_json task tiny
expect_json speedup null
expect_json best null
cp "$work/stream" "$out"
line 2
expect_json kind run-created
expect_json seq 1
cp "$work/stream" "$out"
line last
expect_json kind run
expect_json state ended
expect_json calls 6
expect_json pid null
[ "$(grep -c '"kind":"try"' "$work/stream")" = 7 ] || fail "not the start and six tries"

t "log --json: the same events; an object a line; --body; --last; --grep"
run_cmd "$wl" log --json
expect_rc 0
sed '1d;$d' "$work/stream" | cmp -s - "$out" || fail "other events than run --json"
run_cmd "$wl" log --json --body --last 2
[ "$(wc -l <"$out")" = 2 ] || fail "not two lines"
line last
expect_json kind engine-stopped
json "$out" body >/dev/null || fail "no body"
run_cmd "$wl" log --json --body --last 1000
grep '"kind":"try"' "$out" | head -n 1 >"$work/try" && cp "$work/try" "$out"
expect_json verdict ok
expect_json body/verdict ok
expect_json id 1
run_cmd "$wl" log --grep nothingofthekind --json
expect_rc 1

t "show --json, ls --json: one run in both; numbers that need 64 bits have all digits"
run_cmd "$wl" show --json
expect_rc 0
ascii
grep -q '"seed":8999999999999999,' "$out" || fail "the seed has lost digits"
grep -q '"created_ns":[0-9]\{19\},' "$out" || fail "no time"
expect_json goal/text "$(printf 'fast\302\233 \303\274')"
expect_json goal/calls 6
expect_json versions/0/verdict null
expect_json versions/0/parent null
expect_json versions/1/parent 0
case $(json "$out" baseline/ns) in 10000000*) ;; *) fail "the baseline is no 10 ms" ;; esac
best=$(json "$out" best) speedup=$(json "$out" speedup)
run_cmd "$wl" ls --json
expect_json 0/best "$best"
expect_json 0/speedup "$speedup"
expect_json 0/parent null

t "show --version --json: a version with its evidence"
run_cmd "$wl" show -v best --json
expect_rc 0
expect_json version "$best"
expect_json speedup "$speedup"
expect_json result/shapes/0/name t512n480
expect_json build/compiler 'fake 1.0'

t "best --json: its source as text, or in a file"
run_cmd "$wl" best --json
expect_rc 0
expect_json version "$best"
json "$out" text >"$work/text"
"$wl" best 2>/dev/null >"$work/source"
echo >>"$work/source"
cmp -s "$work/text" "$work/source" || fail "another source"
run_cmd "$wl" best --json -o "$work/best.c"
expect_json text null
expect_json file "$work/best.c"
expect_json bytes "$(wc -c <"$work/best.c")"

t "diff --json"
run_cmd "$wl" diff tiny-1 1 "$best" --json
expect_rc 0
expect_json a/version 1
expect_json b/version "$best"
json "$out" diff | grep -q '^--- v1' || fail "no unified diff"
expect_json b/result/shapes/0/name t512n480
run_cmd "$wl" diff tiny-1 1 1 --json --source
expect_json diff null

t "goal --json, fork --json"
run_cmd "$wl" goal tiny-1 --json
expect_json goals/# 1
expect_json goals/0/target 1000
run_cmd "$wl" fork tiny-1@1 --json
expect_rc 0
expect_json run tiny-2
expect_json parent tiny-1
expect_json forked_from 1
expect_json path "$WARPLOOP_HOME/runs/tiny-2.warp"

t "resume --json begins after what was there"
run_cmd "$wl" resume tiny-2 --json --calls 3
expect_rc 0
cp "$out" "$work/stream"
line 2
[ "$(json "$out" seq)" -gt 5 ] || fail "it begins with the past"
cp "$work/stream" "$out"
line last
expect_json state ended

t "watch --json of a run that has ended: the run, twice"
run_cmd "$wl" watch tiny-2 --json
expect_rc 0
[ "$(wc -l <"$out")" = 2 ] || fail "$(wc -l <"$out") lines"
line last
expect_json run tiny-2

t "run --headless --json: first and last line; requests say what was asked of whom"
start_bg "$wl" run tiny --headless --json --agent outside
wait_for 10 driven tiny-3 || give_up "no engine"
cp "$work/bg.out" "$out"
[ "$(wc -l <"$out")" = 1 ] || fail "not one line"
line 1
expect_json run tiny-3
for request in pause resume "steer" "goal" stop; do
    case $request in
    steer | goal) run_cmd "$wl" $request tiny-3 text --json ;;
    *) run_cmd "$wl" $request tiny-3 --json ;;
    esac
    expect_rc 0
    expect_json request $request
    expect_json run tiny-3
    expect_json pid "$bg"
done
wait "$bg"
cp "$work/bg.out" "$out"
line last
expect_json state stopped
run_cmd "$wl" steer tiny-3 later --json
expect_json pid null
expect_json state stopped

t "errors are text on standard error with the same exit status"
run_cmd "$wl" pause tiny-3 --json
expect_rc 1
[ ! -s "$out" ] || fail "printed something"
expect_err 'nobody drives this run'
for c in "show none-9" "log none-9" "fork none-9" "diff none-9 1 2" "best none-9" "goal none-9" \
    "attach none-9" "watch none-9" "resume none-9" "stop none-9" "run none" "task show none" \
    "submit none-9 x --why w --strategy s"; do
    # shellcheck disable=SC2086
    run_cmd "$wl" $c --json
    expect_rc 2
    [ ! -s "$out" ] || fail "$c printed something"
    expect_err '^warploop: '
done

t "task ls, show, check --json; doctor --json"
run_cmd "$wl" task ls --json
expect_json 0/task kda
expect_json 0/error null
run_cmd "$wl" task show tiny --json
expect_json name tiny
LIMIT=120 run_cmd "$wl" task check tiny --combinations 1 --json
json "$out" holds >/dev/null || fail "no verdict on the task"
expect_json task tiny
expect_json cases/0/kind honest
run_cmd "$wl" doctor --json
expect_json 0/what compiler
expect_json 0/command null

for c in run attach watch resume pause stop steer goal fork ls show log diff best submit bench task doctor version; do
    t "$c --help documents --json"
    run_cmd "$wl" $c --help
    expect_out '^ +--json +[^ ]'
done

finish
