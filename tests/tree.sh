#!/bin/sh
# The tree's own rules: which folder may include what, how long files and functions may be, what may
# stand at the top. Reads the sources only. Prints one line a rule and a closing line.
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0

# rule NAME OFFENDERS: passes when there are none.
rule() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n%s\n' "$1" "$2" | sed '2,$s/^/    /'
    fi
}

# Lines of sources below the given folders that include a header matching the pattern.
includes() {
    pattern=$1
    shift
    find "$@" -name '*.[ch]' -exec grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" {} +
}

rule "core/ includes no curses, CUDA or Python header" \
    "$(includes 'n?curses|term\.h>|cuda|cupti|nvml|Python|tui/|gpu/' core | grep -v '^core/cmd/[a-z_]*\.c:[0-9]*:#include "tui/\(workbench\|keys\)\.h"')"
rule "tui/ includes no SQL, curl, CUDA or Python header" \
    "$(includes 'sqlite|curl|cuda|cupti|nvml|Python|gpu/' tui)"
rule "curses only in tui/term.c" \
    "$(includes 'n?curses|term\.h>' tui | grep -v '^tui/term\.c:')"
rule "gpu/ takes from core/ only core/base/ and nothing from tui/" \
    "$(includes 'core/|tui/' gpu | grep -v '"core/base/')"
rule "core/base/ takes nothing from the rest of the tree" \
    "$(includes 'core/|tui/|gpu/' core/base | grep -v '"core/base/')"
rule "no file over 900 lines" \
    "$(find core gpu tui tests kernels -name '*.[ch]' -o -name '*.sh' -path 'tests/*' -o -name '*.py' -path 'tests/*' |
        xargs wc -l | awk '$2 != "total" && $1 > 900 { print $2 ": " $1 " lines" }')"
# A function's braces stand in column one (see .clang-format).
rule "no function over 80 lines" \
    "$(find core gpu tui tests -name '*.[ch]' -not -path 'tests/fixtures/*' -exec awk '
        FNR == 1 { start = 0 }
        /^{/ { start = FNR }
        /^}/ { if (start && FNR - start + 1 > 80) print FILENAME ":" start ": " FNR - start + 1 " lines"; start = 0 }
        ' {} +)"
rule "each header has a guard and a comment on top" \
    "$(find core gpu tui -name '*.h' | while read -r h; do
        head -n 1 "$h" | grep -q '^/\*' && grep -q '^#ifndef WARPLOOP_' "$h" || echo "$h"
    done)"
rule "nothing unfinished is left in the sources" \
    "$(grep -rnE 'TO''DO|FIX''ME|XX''X:|not impl''emented' core gpu tui kernels tests --include='*.[ch]' --include='*.sh')"
if git rev-parse --git-dir >/dev/null 2>&1; then
    rule "the top level holds only what the design names" \
        "$(git ls-files | cut -d/ -f1 | sort -u |
            grep -vxE '\..*|Makefile|README\.md|LICENSE|core|gpu|kernels|tui|themes|tests|screenshots')"
fi

echo "tree: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
