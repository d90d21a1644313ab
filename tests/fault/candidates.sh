#!/bin/sh
# Kernels that are wrong, broken or hostile, handed to a real run: each gets its verdict, and the next
# honest kernel is unharmed. (What a hostile object does that no compiler would make of C is tested
# below the whole program: tests/unit/test_bench.c and test_executor.c.)
. "$(dirname "$0")/../lib.sh"

if ! "$wl" doctor --json >"$work/doctor" 2>/dev/null; then
    t "all hostile kernels"
    skip "no jail here: $("$wl" doctor | grep -m 1 '^missing')"
    finish
fi

start_bg "$wl" run tiny --headless --agent outside --target 100000 --seed 9
run=tiny-1
t "the run takes submissions"
wait_for 60 tried $run 0 || give_up "no run"
baseline() { "$wl" show $run --json >"$work/b" && [ -n "$(json "$work/b" baseline/ns)" ]; }
wait_for 60 baseline || give_up "no baseline"

# The kernel of the task with a part before it, one in it (where every s is computed) and one at its end.
kernel() {
    cat <<C
#include <stddef.h>
#include <math.h>
#include "tiny.h"
$1
void tiny_fwd(int T, int N, const float *restrict x, const float *restrict a,
              const float *restrict s0, float *restrict y, float *restrict last)
{
    $2
    for (int n = 0; n < N; n++) {
        float s = s0[n];
        for (int t = 0; t < T; t++) {
            size_t at = (size_t)t * N + n;
            float d = a[n] * s + x[at];
            s = d / (1 + d * d);
            y[at] = s + 0.5F * x[at] * x[at];
        }
        last[n] = s;
    }
    $3
}
C
}

number=0
# case_of NAME VERDICTS PATTERN: the kernel in $work/k gets one of the verdicts (separated by |),
# and a message that says why.
case_of() {
    number=$((number + 1))
    t "$1"
    { echo "/* $number */"; cat "$work/k"; } >"$work/case.c"
    "$wl" submit $run "$work/case.c" --why "hostile $number" --strategy hostile --wait --timeout 100 \
        >"$out" 2>"$err"
    rc=$?
    expect_rc 1
    expect_out "measured nothing, ($2): .*($3)"
    expect_no 'root:' "$out"
}

# Another program each time, as fast as the start: a constant differs that does nothing.
honest() {
    number=$((number + 1))
    kernel '' "if (T < 0) { last[0] = $number; return; }" '' >"$work/honest.c"
    "$wl" submit $run "$work/honest.c" --why "honest $number" --strategy honest --wait --timeout 100 \
        >"$out" 2>"$err"
    rc=$?
    grep -qE ', (ok|screened)' "$out" || {
        fail "an honest kernel is harmed: exit status $rc"
        show_output
    }
}

t "an honest kernel"
honest

kernel '' 'this is no C;' '' >"$work/k"
case_of "does not compile" build 'error|unknown type|expected'
kernel '' '' 'undeclared = 1;' >"$work/k"
case_of "uses what is not declared" build 'undeclared'
kernel 'float half(float);' '' 'last[0] = half(last[0]);' >"$work/k"
case_of "calls what is not there" 'build|rule' 'half'
echo 'int nothing;' >"$work/k"
case_of "has no entry" 'rule|build' 'tiny_fwd'
kernel '' '' 'for (volatile int i = 0;; i = 1) ;' >"$work/k"
case_of "loops for ever" timeout 'did not end within'
kernel 'static int deep(int n) { volatile int a[4096]; a[n & 4095] = n; return a[0] + deep(n + 1) + deep(n + 2); }' '' \
    'last[0] += deep(T);' >"$work/k"
case_of "recurses without end" fault 'stack|memory|signal|address'
kernel '#include <unistd.h>' '' 'for (;;) fork();' >"$work/k"
case_of "forks" rule 'unistd.h'
kernel 'extern int fork(void);' '' 'while (fork() >= 0) ;' >"$work/k"
case_of "forks, declared by itself" rule 'fork'
kernel 'extern void *malloc(size_t);' '' 'for (;;) *(volatile char *)malloc(1 << 21) = 1;' >"$work/k"
case_of "allocates without end" rule 'malloc'
kernel 'static float big[1 << 29];' '' 'big[T] = 1; y[0] += big[N];' >"$work/k"
case_of "wants 2 GiB of static data" 'rule|build' 'data|MiB|memory|large'
kernel '' '' 'for (;;) { volatile char *p = __builtin_alloca(1 << 16); p[0] = 1; }' >"$work/k"
case_of "allocates without end on the stack" 'fault|rule|build' 'stack|address|alloca'
kernel '#include <stdio.h>' '' 'for (;;) puts("hello");' >"$work/k"
case_of "prints without end" rule 'stdio.h'
kernel 'extern int puts(const char *);' '' 'for (;;) puts("hello");' >"$work/k"
case_of "prints, declared by itself" rule 'puts'
kernel '' '' 'y[(size_t)T * N + 4096] = 1;' >"$work/k"
case_of "writes far after its output" fault 'y'
kernel '' '' 'y[(size_t)T * N] = 1;' >"$work/k"
case_of "writes just after its output" 'fault|wrong' 'after the end of'
kernel '' '' 'last[-1] = 1;' >"$work/k"
case_of "writes just before its output" 'fault|wrong' 'before the start of'
kernel '' '' '*(volatile int *)(size_t)(N & 0) = 1;' >"$work/k"
case_of "writes to address 0" fault '0x0|address'
kernel '' '' '*(volatile int *)(size_t)0x7fff00000000 = 1;' >"$work/k"
case_of "writes to a wild address" fault 'address'
kernel '#include <sys/socket.h>' '' 'socket(2, 1, 0);' >"$work/k"
case_of "opens a socket" rule 'sys/socket.h'
kernel 'extern int socket(int, int, int);' '' 'last[0] += socket(2, 1, 0);' >"$work/k"
case_of "opens a socket, declared by itself" rule 'socket'
kernel 'extern int open(const char *, int, ...); extern long read(int, void *, size_t);' '' \
    'char b[4]; last[0] += read(open("/etc/passwd", 0), b, 4);' >"$work/k"
case_of "reads /etc when it runs" rule 'open|read'
kernel '#include "/etc/passwd"' '' '' >"$work/k"
case_of "reads /etc when it is compiled" rule '/etc/passwd'
kernel '#include "../../../../../../etc/passwd"' '' '' >"$work/k"
case_of "climbs to /etc" rule 'etc/passwd'
kernel '#define F <stdlib.h>
#include F' '' '' >"$work/k"
case_of "computes the header's name" rule 'include'
kernel '#include <stdlib.h>' '' '' >"$work/k"
case_of "uses a forbidden header" rule 'stdlib.h'
kernel '__asm__(".section .rodata\nloot: .incbin \"/etc/passwd\"\n.text");' '' '' | tr '\n' ' ' |
    sed 's/#include <stddef.h> #include <math.h> #include "tiny.h" /#include <stddef.h>\n#include "tiny.h"\n/' >"$work/k"
case_of "takes a file in by .incbin" rule 'asm|incbin'
kernel '' '# 1 "/etc/passwd"
    y[1] = nowhere;' '' >"$work/k"
case_of "forges a line marker" rule 'line|marker|directive'
kernel '' '#line 1 "/etc/passwd"' '' >"$work/k"
case_of "forges a line number" rule '#line|line'
kernel '#embed "/etc/passwd"' '' '' >"$work/k"
case_of "embeds a file" rule 'embed'
kernel 'static float primed; __attribute__((constructor)) static void prime(void) { primed = 1; }' '' \
    'last[0] += primed - 1;' >"$work/k"
case_of "has an initialiser" rule 'constructor'
kernel 'static float primed; __attribute__((const\
ructor)) static void prime(void) { primed = 1; }' '' 'last[0] += primed - 1;' >"$work/k"
case_of "has an initialiser behind a line splice" rule 'constructor'
kernel 'static float primed; _Pragma("init(prime)") static void prime(void) { primed = 1; }' '' '' >"$work/k"
case_of "has a pragma" rule 'pragma|_Pragma'
kernel 'static const unsigned char code[] = {0xb8, 57, 0, 0, 0, 0x0f, 0x05, 0xc3};' '' \
    '((void (*)(void))(size_t)code)();' >"$work/k"
case_of "runs machine code in a data array" 'fault|rule' 'execut|address|code|jump'
kernel '__attribute__((section(".text"))) static const unsigned char code[] = {0xb8, 57, 0, 0, 0, 0x0f, 0x05, 0xc3};' '' \
    '((void (*)(void))(size_t)code)();' >"$work/k"
case_of "places machine code among the code" rule 'section'
kernel 'static __attribute__((noinline)) size_t hidden(void) { return 0xc3050f0000000039; }' '' \
    'last[0] += (float)(hidden() & 0); ((void (*)(void))((size_t)hidden + 2 + (size_t)(T & 0)))();' >"$work/k"
case_of "hides a system call in a constant" 'rule|fault' 'syscall|system call|signal|instruction|address'
kernel '' '__asm__ volatile("syscall" : : "a"(39L) : "rcx", "r11", "memory");' '' >"$work/k"
case_of "makes a system call by hand" rule 'asm'
kernel 'extern long syscall(long, ...);' '' 'static char p[120]; last[0] += syscall(425, 8, p);' >"$work/k"
case_of "sets up io_uring" rule 'syscall'
kernel 'extern int fork(void), setsid(void), daemon(int, int);' '' 'if (daemon(0, 0) == 0) setsid();' >"$work/k"
case_of "becomes a daemon" rule 'daemon|setsid|fork'
kernel 'extern int ftruncate(int, long);' '' 'for (int fd = 0; fd < 64; fd++) ftruncate(fd, 0);' >"$work/k"
case_of "truncates the shared memory" rule 'ftruncate'
kernel '' '' '((float *)(size_t)x)[0] = 1;' >"$work/k"
case_of "writes its input" fault 'input x'
kernel '' 'return;' '' >"$work/k"
case_of "answers before it has computed" wrong 'was not written'
kernel 'extern void _exit(int);' '_exit(0);' '' >"$work/k"
case_of "ends the process instead of computing" rule '_exit'
kernel 'extern void longjmp(void *, int);' '' 'longjmp(y, 1);' >"$work/k"
case_of "jumps out" 'rule|build' 'longjmp'
kernel '' '' 'last[0] = 0.0F / (y[0] - y[0]);' >"$work/k"
case_of "leaves NaN" wrong 'last'
kernel '' '' 'y[(size_t)T * N - 1] += 1;' >"$work/k"
case_of "is wrong in one element" 'wrong|inaccurate' 'y'
kernel '' '' 'if (T > 64) y[64 * N] = 0;' >"$work/k"
case_of "is right for short sequences only" 'wrong|inaccurate' 'y'
kernel '' '' 'for (size_t i = 0; i < (size_t)T * N; i++) y[i] *= 1.0003F;' >"$work/k"
case_of "is inaccurate" 'inaccurate|wrong' 'y'
cp "$root/kernels/tiny/c/cheat_dropped_history.c" "$work/k"
case_of "drops the history" 'wrong|inaccurate' 'long-memory'
head -c 900000 /dev/zero | tr '\0' '(' >"$work/k"
case_of "is one endless parenthesis" 'rule|build' '.'
kernel 'float thread_local_value; static __thread float v;' '' 'v += 1; last[0] += v - v;' >"$work/k"
case_of "uses thread-local storage" 'rule|build' 'thread'

t "a former answer that is kept is of no use: every call is a process of its own"
kernel 'static float kept[1 << 20], kept_last[1 << 12]; static int have;' '
    if (have && have == T) {
        for (int i = 0; i < T * N; i++) y[i] = kept[i];
        for (int i = 0; i < N; i++) last[i] = kept_last[i];
        return;
    }' 'have = T; for (int i = 0; i < T * N; i++) kept[i] = y[i]; for (int i = 0; i < N; i++) kept_last[i] = last[i];' \
    >"$work/cache.c"
"$wl" submit $run "$work/cache.c" --why caching --strategy cache --wait --timeout 100 >"$out" 2>"$err"
expect_no 'RECORD' "$out"
expect_out ', (ok|screened|wrong|implausible)'

t "after all of them an honest kernel is unharmed, and the engine is the same"
honest
driven $run || fail "the engine has ended"
"$wl" show $run --json >"$out"
expect_json engines 1
expect_json state running

t "nothing of any candidate is left running, nothing of /etc stands in the log"
"$wl" log $run --body >"$out"
expect_no 'root:x?:' "$out"
brood=$(children "$bg")
"$wl" stop $run >/dev/null
wait "$bg"
sleep 0.5
for c in $brood; do kill -0 "$c" 2>/dev/null && fail "process $c is left"; done

finish
