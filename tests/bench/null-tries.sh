#!/bin/sh
# Null tries: one kernel as candidate and incumbent, N times; how often it is called a record. Writes
# the figures as JSON. With 1,000 tries at most one false record is allowed.
#
# usage: tests/bench/null-tries.sh TASK CONFIGURATION N OUT.json
#        BUILD=dir (default build): where bench_request and warploop-bench were built
set -eu
[ $# -eq 4 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
task=$1 config=$2 n=$3 out=$4 build=${BUILD:-build}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
WARPLOOP_KERNELS=${WARPLOOP_KERNELS:-kernels}
export WARPLOOP_KERNELS
"$build/test/bench/bench_request" "$task" "$config" - full "$here/request"
"$build/bin/warploop-bench" --probe >"$here/probe"
begin=$(date +%s)
"$build/bin/warploop-bench" --null "$n" "$here/request" >"$here/tries" || true
end=$(date +%s)
tail -n 1 "$here/tries" | grep -q "^$n null tries" || { tail -n 3 "$here/tries" >&2; exit 1; }
mkdir -p "$(dirname "$out")"
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",]*\).*/\1/p" "$here/probe"; }
{
    printf '{\n  "date": "%s",\n' "$(date -u +%Y-%m-%d)"
    printf '  "machine": "%s, %s cores, Linux %s",\n' "$(field cpu)" "$(field cores)" "$(uname -r)"
    printf '  "priority": "%s",\n' "$(field priority)"
    printf '  "command": "tests/bench/null-tries.sh %s \\"%s\\" %s %s",\n' "$task" "$config" "$n" "$out"
    printf '  "tries": %s,\n  "false_records": %s,\n' "$n" "$(grep -c 'RECORD' "$here/tries" || true)"
    printf '  "seconds": %s,\n' "$((end - begin))"
    awk -F '\t' '/^[0-9]+\t/ {
            sets[$2]++; split($3, g, " "); x = log(g[2]); s += x; q += x * x; k++
        }
        END {
            printf "  \"gain_mean\": %.5f,\n  \"gain_spread\": %.5f,\n", exp(s / k),
                   sqrt((q - s * s / k) / (k - 1))
            printf "  \"tries_by_sets\": {"
            for (i = 2; i <= 200; i++)
                if (sets[i " sets"])
                    printf "%s\"%d\": %d", c++ ? ", " : "", i, sets[i " sets"]
            printf "}\n"
        }' "$here/tries"
    printf '}\n'
} >"$out.new"
mv "$out.new" "$out"
cat "$out"
