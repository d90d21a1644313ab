#!/bin/sh
# warploop task new: a user's own C function becomes a task, with the real back end.
. "$(dirname "$0")/../lib.sh"

cp "$root"/tests/fixtures/own/*.c "$work/"
cd "$work" || exit 2
own=$WARPLOOP_HOME/kernels

# No task, and nothing half made.
expect_none() {
    for f in "$own"/* "$own"/.[!.]*; do
        case $f in *'*'*) ;; *) fail "left behind: $f" ;; esac
    done
}

t "bad usage: what is missing, and what a name may be"
run_cmd "$wl" task new
expect_rc 2
expect_err "expected the TASK's name, such as: task new saxpy --c saxpy.c --entry saxpy"
run_cmd "$wl" task new saxpy
expect_rc 2
expect_err 'task new: expected --c FILE, the C source'
for odd in a/b ../up Upper start 'a b' ''; do
    run_cmd "$wl" task new "$odd" --c saxpy.c --entry saxpy
    expect_rc 2
    expect_err 'task new: field NAME: expected 1 to 48 of a-z 0-9 - _'
done
run_cmd "$wl" task new "$(printf 'a\033[31mb\007')" --c saxpy.c --entry saxpy
expect_rc 2
expect_err 'field NAME'
expect_no "$(printf '\033')|$(printf '\007')" "$err"
run_cmd "$wl" task new tiny --c saxpy.c --entry saxpy
expect_rc 2
expect_err 'expected a name of its own; "tiny" comes with warploop'
run_cmd "$wl" task new mine --c missing.c --entry saxpy
expect_rc 2
expect_err 'cannot read missing.c'
run_cmd "$wl" task new mine --c "$work" --entry saxpy
[ "$rc" != 0 ] || fail "a folder is taken for a source"
run_cmd "$wl" task new mine --c saxpy.c --entry sxapy
expect_rc 2
expect_err 'saxpy.c: expected a definition of "sxapy"; did you mean "saxpy"\? The file defines: saxpy'
run_cmd "$wl" task new mine --c saxpy.c --entry 'f();'
expect_rc 2
expect_err "field --entry: expected a C function's name"
expect_none
[ ! -e mine.spec ] || fail "a spec was written"

t "a type that no task has: line, column, what to do"
printf '#include <stddef.h>\nvoid f(size_t n,\n       const double *x, float *y)\n{\n}\n' >types.c
run_cmd "$wl" task new types --c types.c --entry f
expect_rc 2
expect_err 'types.c:3:22: x points to double; expected float: .*Give it a float parameter'
printf 'void f(int n, const float *x, int *y)\n{\n}\n' >types.c
run_cmd "$wl" task new types --c types.c --entry f
expect_rc 2
expect_err 'types.c:1:36: y points to int; expected float: .*whole numbers are not compared yet'
expect_none

t "matmul: one command; three dims, extents from the indices, sizes measured, check proven"
LIMIT=300 run_cmd "$wl" task new matmul --c matmul.c --entry matmul
expect_rc 0
expect_out '^wrote +matmul.spec: '
expect_out '^  dim +k +scored auto +check 1 23 +hidden 65$'
expect_out '^  input +a +\[m, k\] +normal 0 1$'
expect_out '^  input +b +\[k, n\] '
expect_out '^  output +c +\[m, n\] +error 1e-05 0.001$'
expect_out '^reference +made from matmul\(\): float -> double'
expect_out '^sizes +m=[0-9]+ n=[0-9]+ k=[0-9]+: [0-9.]+ ms a call'
expect_out '^check +the function passes, 7 kernels that cheat are refused$'
expect_out "^made +$own/matmul$"
expect_out '^  warploop run matmul '
expect_no 'warning' "$out"
[ -f "$own/matmul/task.json" ] || fail "no task.json"
cmp -s matmul.c "$own/matmul/c/baseline.c" || fail "the baseline is not the user's file"
cmp -s matmul.c "$own/matmul/c/start.c" || fail "the start is not the user's file"

t "a task of one's own is found by name from anywhere, without any variable"
cd / || exit 2
for e in "WARPLOOP_KERNELS=$WARPLOOP_KERNELS" -uWARPLOOP_KERNELS; do
    run_cmd env "$e" "$wl" task ls
    expect_rc 0
    expect_out '^matmul +matmul\(\) of matmul.c$'
    expect_out '^tiny +A damped'
    run_cmd env "$e" "$wl" task show matmul
    expect_rc 0
    expect_out 'void matmul\(int m, int n, int k, const float \*a, const float \*b, float \*c\);'
    expect_out "^folder +$own/matmul$"
done
run_cmd "$wl" task show matmull
expect_rc 2
expect_err 'did you mean "matmul"'
LIMIT=200 run_cmd "$wl" task check matmul
expect_rc 0
expect_out '^matmul: honest kernels pass and cheats fail: 9 as they should, 0 not$'
cd "$work" || exit 2

t "a task that is there stays as it is; --force replaces it, and only when the new one is right"
before=$(cat "$own"/matmul/task.json "$own"/matmul/c/* | cksum)
run_cmd "$wl" task new matmul --c matmul.c --entry matmul
expect_rc 2
expect_err 'task new: "matmul" is there already, in .*; --force replaces it'
sed 's/^output .*/output c [n, n] error 1e-5 1e-3/' matmul.spec >wrong.spec
LIMIT=200 run_cmd "$wl" task new matmul --c matmul.c --entry matmul --spec wrong.spec --force
[ "$rc" = 2 ] || [ "$rc" = 1 ] || fail "a wrong extent is taken: $rc"
[ "$(cat "$own"/matmul/task.json "$own"/matmul/c/* | cksum)" = "$before" ] || fail "it was changed"
sed 's/scored auto/scored 64/' matmul.spec >small.spec
LIMIT=200 run_cmd "$wl" task new matmul --c matmul.c --spec small.spec --force
expect_rc 0
expect_out '^spec +small.spec$'
expect_out '^warning +a call takes .*; under 20 ms .*Make the scored sizes larger; about [0-9]+ times'
[ "$(ls -A "$own")" = matmul ] || fail "left behind: $(ls -A "$own")"
run_cmd "$wl" task show matmul --json
expect_json shapes/scored/0/dims/m 64

t "saxpy: read and written, size_t, --spec-only, then the run"
run_cmd "$wl" task new saxpy --c saxpy.c --entry saxpy --spec-only
expect_rc 0
expect_out '^  inout +y +\[n\] +normal 0 1 +error 1e-05 0.001$'
expect_out '^then +warploop task new saxpy --c saxpy.c --entry saxpy$'
[ ! -e "$own/saxpy" ] || fail "a task was made"
run_cmd "$wl" task new saxpy --c saxpy.c --entry saxpy --spec-only
expect_rc 2
expect_err 'saxpy.spec is there already; remove it'
sed -i 's/scored auto/scored 1000000/' saxpy.spec
LIMIT=200 run_cmd "$wl" task new saxpy --c saxpy.c --entry saxpy
expect_rc 0
expect_out '^entry +saxpy_task\(\) calls saxpy\(\): sizes are int in a task; what is read and written'
run_cmd "$wl" task show saxpy
expect_out 'void saxpy_task\(int n, float a, const float \*x, const float \*y_in, float \*y\);'

t "a task without moves: the tuner measures it and says what can be done"
LIMIT=200 run_cmd "$wl" run saxpy --plain --seed 1
expect_rc 0
expect_out ' baseline: [0-9.]+ [mun]s a call'
expect_out 'ended: stalled: task saxpy has no moves .* warploop run saxpy --agent outside'
expect_out 'warploop submit RUN FILE --why TEXT --strategy NAME'

t "a kernel of one's own, submitted"
start_bg "$wl" run saxpy --agent outside --headless --seed 2
if wait_for 60 driven saxpy-2; then
    cat >fast.c <<'FAST'
void saxpy_task(int n, float a, const float *restrict x, const float *restrict y_in, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y_in[i];
}
FAST
    LIMIT=200 run_cmd "$wl" submit saxpy-2 fast.c --why "no copy first" --strategy fuse --wait
    expect_rc 0
    expect_out '^v2 +fuse: measured .* on v1: [0-9.]+x .*, ok'
    sed 's/+ y_in/- y_in/' fast.c >bad.c
    LIMIT=200 run_cmd "$wl" submit saxpy-2 bad.c --why "a sign" --strategy sign --wait
    expect_rc 1
    expect_out 'wrong'
    "$wl" stop saxpy-2 >/dev/null 2>&1
    wait "$bg"
else
    fail "no engine: $(cat "$work/bg.err")"
fi

t "softmax: pointers to rows, expf; --json"
LIMIT=300 run_cmd "$wl" task new softmax --c softmax.c --entry softmax --json
expect_rc 0
expect_json task softmax
expect_json state made
expect_json wrong 0
expect_json right 9
expect_json folder "$own/softmax"
[ "$(wc -l <"$out")" = 1 ] || fail "more than one line"
grep -q 'out\[c\] = exp(in\[c\] - most);' "$own/softmax/c/reference.c" || fail "not in float64"

t "scan: a state that goes in and out, int64_t"
run_cmd "$wl" task new scan --c scan.c --entry scan --spec-only
expect_rc 0
expect_out '^  inout +state +\[lanes\] '
expect_out '^  output +y +\[steps, lanes\] '
sed -i 's/scored auto/scored 1500/' scan.spec
LIMIT=200 run_cmd "$wl" task new scan --c scan.c --entry scan
expect_rc 0
expect_out '9 kernels that cheat are refused'
run_cmd "$wl" task show scan
expect_out 'const float \*state_in,'

t "what cannot be guessed is asked for; a main is left out"
run_cmd "$wl" task new walk --c walk.c --entry walk
expect_rc 1
expect_out '^to edit +walk.spec: fill in the extents of x, y'
run_cmd "$wl" task new walk --c walk.c --entry walk --json
expect_rc 2
expect_err 'walk.spec:[0-9]+: field x: expected the extents of x over the dims'
sed -i 's/\[?\]/[m, n]/; s/ # to be filled.*//; s/scored auto/scored 1000/' walk.spec
LIMIT=200 run_cmd "$wl" task new walk --c walk.c --entry walk
expect_rc 0
expect_out '^left out +main: '
run_cmd grep puts "$own/walk/c/start.c"
expect_rc 1

t "what a killed task new has left goes away in time"
mkdir "$own/.new-old" "$own/.new-young"
touch -d '3 hours ago' "$own/.new-old"
LIMIT=200 run_cmd "$wl" task new walk --c walk.c --entry walk --force
expect_rc 0
[ ! -e "$own/.new-old" ] || fail "it is still there"
[ -e "$own/.new-young" ] || fail "one that may be at work is gone"
rmdir "$own/.new-young"

t "a spec with an error on a line: nothing is made"
for edit in 's/^dim     h .*//=field h: missing; expected a line' \
    's/^input .*/input in [h, v] normal 0 1/=stencil.spec:[0-9]+: field in: expected extents over the dims: .*unknown name v' \
    's/normal/gauss/=stencil.spec:[0-9]+: field in: expected normal, uniform, constant or choice' \
    's/scored auto/scored -4/=stencil.spec:[0-9]+: field h: expected a size after "scored"'; do
    rm -f stencil.spec
    "$wl" task new stencil --c stencil.c --entry stencil --spec-only >/dev/null
    sed -i "${edit%%=*}" stencil.spec
    run_cmd "$wl" task new stencil --c stencil.c --entry stencil
    expect_rc 2
    expect_err "${edit#*=}"
    [ ! -e "$own/stencil" ] || fail "a task was made"
done

t "a guess that is wrong is found out, with what to do; corrected it is right"
rm -f stencil.spec
LIMIT=200 run_cmd "$wl" task new stencil --c stencil.c --entry stencil
expect_rc 2
expect_err 'stencil: the baseline failed: out was not written'
expect_err 'an array that is read before it is written is "inout"'
[ ! -e "$own/stencil" ] || fail "a task was made"
sed -i 's/^output .*/inout out [h, w] normal 0 1 error 1e-5 1e-3/; s/scored auto/scored 2000/' stencil.spec
LIMIT=200 run_cmd "$wl" task new stencil --c stencil.c --entry stencil
expect_rc 0

t "a reference of one's own; one that does not build is told"
sed 's/float sum/double sum/; s/void matmul/void matmul_ref/; s/float \*c/double *c/' matmul.c >ref.c
LIMIT=200 run_cmd "$wl" task new matmul --c matmul.c --spec small.spec --reference ref.c --force
expect_rc 0
expect_out '^reference +ref.c, as it is$'
cmp -s ref.c "$own/matmul/c/reference.c" || fail "not that file"
echo 'void matmul_ref(int m) { nonsense; }' >ref.c
run_cmd "$wl" task new matmul --c matmul.c --spec small.spec --reference ref.c --force
expect_rc 2
expect_err 'the reference does not build: '
expect_err 'void matmul_ref\(int m, int n, int k, const float \*a, const float \*b, double \*c\)'
echo 'void matmul_ref(void) {}' >ref.c
LIMIT=100 run_cmd "$wl" task new matmul --c matmul.c --spec small.spec --reference ref.c --force
expect_rc 2
expect_err "the reference's c is not finite"
printf '#include <immintrin.h>\nvoid f(int n, const float *x, float *y)\n{\n    for (int i = 0; i < n; i++)\n        y[i] = _mm_cvtss_f32(_mm_set_ss(x[i]));\n}\n' >simd.c
run_cmd "$wl" task new simd --c simd.c --entry f
expect_rc 2
expect_err 'simd.c:5:16: "_mm_cvtss_f32" has no float64 form.*--reference'

t "what no kernel may do, in the user's own lines"
printf '#include <sys/socket.h>\nvoid f(int n, const float *x, float *y)\n{\n    for (int i = 0; i < n; i++)\n        y[i] = x[i];\n    asm("");\n}\n' >rules.c
run_cmd "$wl" task new rules --c rules.c --entry f
expect_rc 2
expect_err 'rules.c: no kernel may do this: line 1: header "sys/socket.h" is not allowed'
sed -i 1d rules.c
run_cmd "$wl" task new rules --c rules.c --entry f
expect_rc 2
expect_err 'rules.c: no kernel may do this: line 5: '
[ "$(ls -A "$own" | tr '\n' ' ')" = 'matmul saxpy scan softmax stencil walk ' ] ||
    fail "left behind: $(ls -A "$own")"

finish
