#!/bin/sh
# submit --batch: a folder of kernels, each with a sidecar that says what it is for.
. "$(dirname "$0")/../lib.sh"
use_fake

# A kernel and its sidecar: pair DIR NAME MARKER [FIELDS]
pair() {
    mkdir -p "$work/$1"
    {
        echo "/* $2 $3 */"
        cat "$root/kernels/tiny/c/start.c"
    } >"$work/$1/$2.c"
    printf '{"why": "%s is faster", "strategy": "s-%s"%s}\n' "$2" "$2" "${4:-}" >"$work/$1/$2.json"
}

versions() {
    "$wl" show "$1" --json >"$work/versions"
    json "$work/versions" versions/#
}

t "a batch is handed over in the order of names; --wait ends with a table; exit status 0"
start_bg "$wl" run tiny --headless --agent outside --target 1000
wait_for 10 driven tiny-1 || give_up "no engine"
run=tiny-1
pair one b FAKE_SPEEDUP=1.5
pair one a FAKE_SPEEDUP=1.2
pair one c FAKE_SPEEDUP=2 ', "parent": "start"'
echo 'what lies there beside is left alone' >"$work/one/README"
run_cmd "$wl" submit $run --batch "$work/one" --wait
expect_rc 0
expect_out '^a.c +submitted$'
expect_out "^$run: 3 of 3 kernels submitted: asked for; the engine \\(pid $bg on .*\\) reads it"
expect_out '^a.c +v2\* +ok +1.20x \(1.20..1.20\) +s-a$'
expect_out '^b.c +v3\* +ok +1.50x .* s-b$'
expect_out '^c.c +v4\* +ok +2.00x .* s-c$'
run_cmd "$wl" show $run --json
expect_json versions/# 5
expect_json versions/2/config a.c
expect_json versions/3/strategy s-b
# b's parent is the best of the moment it was taken up: the start, or a once it had its verdict
expect_json versions/4/parent 1
run_cmd "$wl" log $run --grep "b faster"
expect_out 'b is faster'
[ -z "$("$wl" best $run 2>/dev/null | cmp - "$work/one/c.c")" ] || fail "another source"

t "the same batch again: reported, not submitted again"
run_cmd "$wl" submit $run --batch "$work/one" --wait
expect_rc 0
expect_out '^a.c +is in the run already: v2, ok$'
expect_out '^tiny-1: nothing is missing: the run has all 3 kernels$'
expect_out '^c.c +v4\* +ok'
[ "$(versions $run)" = 5 ] || fail "there are more versions"

t "--json: an array of objects; exit status 1 when a verdict is another than ok"
pair one d FAKE_BENCH=wrong
pair one e FAKE_BUILD=build
cp "$work/one/d.c" "$work/one/f.c"
cp "$work/one/d.json" "$work/one/f.json"
run_cmd "$wl" submit $run --batch "$work/one" --wait --json
expect_rc 1
expect_json '#' 6
expect_json 0/file "$work/one/a.c"
expect_json 0/run $run
expect_json 0/status known
expect_json 0/version 2
expect_json 0/speedup 1.2
expect_json 3/status submitted
expect_json 3/verdict wrong
expect_json 3/speedup null
expect_json 3/message 'as the marker says'
expect_json 3/why 'd is faster'
expect_json 4/verdict build
expect_json 5/status duplicate
expect_json 5/version "$(json "$out" 3/version)"
[ "$(versions $run)" = 7 ] || fail "the twin was submitted"

t "every fault is named with file, line and field, and nothing is submitted"
pair bad good FAKE_SPEEDUP=3
pair bad alone FAKE_SPEEDUP=3
rm "$work/bad/alone.json"
echo '{"why": "w", "strategy": "s"}' >"$work/bad/nokernel.json"
: >"$work/bad/empty.c"
printf '{\n "why": "",\n "startegy": "x"\n}\n' >"$work/bad/empty.json"
printf 'int x;\0' >"$work/bad/nul.c"
printf '{\n "why": 7,\n "strategy": "s",\n "parent": 99}\n' >"$work/bad/nul.json"
pair bad syntax FAKE_SPEEDUP=3
printf '{"why": "w",\n "strategy": }\n' >"$work/bad/syntax.json"
pair bad list FAKE_SPEEDUP=3
echo '[]' >"$work/bad/list.json"
pair bad long FAKE_SPEEDUP=3
printf '{"why": "w", "strategy": "%0120d"}\n' 7 >"$work/bad/long.json"
head -c 1200000 /dev/zero | tr '\0' ' ' >"$work/bad/big.c"
echo '{"why": "w", "strategy": "s"}' >"$work/bad/big.json"
run_cmd "$wl" submit $run --batch "$work/bad" --wait
expect_rc 2
expect_err "^warploop: $work/bad/alone.json: is missing; expected \\{"
expect_err "^warploop: $work/bad/nokernel.json: there is no kernel nokernel.c beside it"
expect_err "^warploop: $work/bad/empty.c is empty"
expect_err "^warploop: $work/bad/empty.json:2: field why: is empty; expected a text"
expect_err "^warploop: $work/bad/empty.json:3: field startegy: is unknown; .*nearest is strategy"
expect_err "^warploop: $work/bad/empty.json:1: field strategy: is missing; expected a text"
expect_err "^warploop: $work/bad/nul.c has a NUL byte at offset 6"
expect_err "^warploop: $work/bad/nul.json:2: field why: is no text"
expect_err "^warploop: $work/bad/nul.json:4: field parent: there is no version 99"
expect_err "^warploop: $work/bad/syntax.json:2: not valid JSON at column"
expect_err "^warploop: $work/bad/list.json:1: field \\(top\\): expected an object"
expect_err "^warploop: $work/bad/long.json:1: field strategy: has 120 bytes; at most 100"
expect_err "^warploop: $work/bad/big.c"
expect_err '^warploop: 13 faults, nothing was submitted$'
[ ! -s "$out" ] || fail "printed: $(head -n 1 "$out")"
[ "$(versions $run)" = 7 ] || fail "something was submitted"

t "a folder that is not there, is a file, is empty; options that do not go together"
run_cmd "$wl" submit $run --batch "$work/none"
expect_rc 2
expect_err 'there is no such folder'
run_cmd "$wl" submit $run --batch "$work/one/a.c"
expect_rc 2
mkdir "$work/empty"
run_cmd "$wl" submit $run --batch "$work/empty"
expect_rc 2
expect_err 'holds no kernel: expected NAME.c and NAME.json'
for extra in "$work/one/a.c" "--why=x" "--strategy=x" "--parent=1"; do
    run_cmd "$wl" submit $run --batch "$work/one" "$extra"
    expect_rc 2
    expect_err 'with --batch'
done
run_cmd "$wl" submit $run
expect_rc 2
expect_err 'FILE is missing.*--batch DIR'

t "one kernel: --parent, --json, --json --wait"
cp "$work/one/a.c" "$work/single.c"
echo '/* FAKE_CODE=single */' >>"$work/single.c"
run_cmd "$wl" submit $run "$work/single.c" --why w --strategy s --parent v2 --json --wait
expect_rc 0
expect_json version 7
expect_json verdict ok
expect_json status submitted
run_cmd "$wl" submit $run "$work/single.c" --why w --strategy s --json
expect_rc 0
expect_json request submit
expect_json pid "$bg"
run_cmd "$wl" show $run --json
expect_json versions/7/parent 2
run_cmd "$wl" submit $run "$work/single.c" --why w --strategy s --parent v99
expect_rc 2
expect_err 'there is no version v99'

t "a run that nobody drives keeps a batch; what waits in its inbox is not put there again"
"$wl" stop $run >/dev/null
wait "$bg"
pair kept k1 FAKE_SPEEDUP=2.1
pair kept k2 FAKE_SPEEDUP=2.2
run_cmd "$wl" submit $run --batch "$work/kept"
expect_rc 0
expect_out '2 of 2 kernels submitted: kept; nobody drives this run now'
run_cmd "$wl" submit $run --batch "$work/kept" --wait --json
expect_rc 3
expect_err 'nobody drives this run any more; the submission is kept'
expect_json 0/status pending
expect_json 0/version null
expect_json 1/verdict null
before=$(versions $run)
start_bg "$wl" resume $run --headless
wait_for 10 driven $run || give_up "no engine"
run_cmd "$wl" submit $run --batch "$work/kept" --wait
expect_rc 0
[ "$(versions $run)" = "$((before + 2))" ] || fail "not two more versions"
"$wl" stop $run >/dev/null
wait "$bg"

t "killed with -9 in mid-batch: the same command hands over what is missing, nothing twice"
for i in $(seq 100 139); do pair many "m$i" "FAKE_CODE=m$i"; done
before=$(versions $run)
for pause in 0.01 0.03 0.02 0.04 0.01 0.05; do
    "$wl" submit $run --batch "$work/many" >/dev/null 2>&1 &
    killed=$!
    sleep $pause
    kill -9 $killed 2>/dev/null
    wait $killed 2>/dev/null
done
mkdir "$work/part"
cp "$work/many/m110.c" "$work/many/m110.json" "$work/part"
"$wl" submit $run --batch "$work/part" >/dev/null
run_cmd "$wl" submit $run --batch "$work/many" --json
expect_rc 0
expect_json '#' 40
expect_json 10/status pending
start_bg "$wl" resume $run --headless
wait_for 10 driven $run || give_up "no engine"
run_cmd "$wl" submit $run --batch "$work/many" --wait --json
expect_json '#' 40
tr '{' '\n' <"$out" | grep -c '"status":"submitted"' >"$work/count"
[ "$(cat "$work/count")" = 0 ] || fail "something was missing"
[ "$(versions $run)" = "$((before + 40))" ] || fail "$(versions $run) versions, not $((before + 40))"
for i in $(seq 100 139); do
    n=$(tr '{' '\n' <"$work/versions" | grep -c "\"config\":\"m$i.c\"")
    [ "$n" = 1 ] || fail "m$i stands there $n times"
done

t "--timeout: what has no verdict in time is said; what was submitted stands"
pair late l1 "FAKE_SPEEDUP=1.1 FAKE_MS=1500"
pair late l2 "FAKE_SPEEDUP=1.1 FAKE_CODE=l2 FAKE_MS=1500"
run_cmd "$wl" submit $run --batch "$work/late" --wait --timeout 0.2
expect_rc 3
expect_err '[12] of 2 have no verdict after 0.4 s'
expect_out '^l2.c +(v[0-9]+|-) +none yet '

t "hostile words in names and sidecars reach no terminal"
pair evil x FAKE_SPEEDUP=1.3
mv "$work/evil/x.c" "$work/evil/$(printf 'e\033]0;t\007.c')"
printf '{"why": "w\033[31m\302\233", "strategy": "s\033]0;t\007"}' >"$work/evil/$(printf 'e\033]0;t\007.json')"
rm "$work/evil/x.json"
run_cmd "$wl" submit $run --batch "$work/evil" --wait
expect_rc 0
expect_no "$(printf '[\033\007]')" "$out"
rm "$work/evil/"*.json
run_cmd "$wl" submit $run --batch "$work/evil"
expect_rc 2
expect_no "$(printf '[\033\007]')" "$err"

finish
