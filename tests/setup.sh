#!/bin/sh
# Says which packages are missing and why, and installs them (apt-get; as root or through sudo).
# usage: setup.sh demo|test|pictures|tools
# Without root and sudo it prints the one command that a person with rights has to type, exits 2.
set -u
want=${1:-demo}

# package | what it is for | since when it is needed
packages() {
    cat <<'LIST'
gcc|the compiler: of warploop and of the kernels that it tries|demo
libc6-dev|the C library's headers|demo
binutils|objdump, for the instruction mix of a kernel|demo
pkgconf|finds the libraries below|demo
bubblewrap|the jail that kernels are compiled in|demo
libncurses-dev|the workbench|demo
libcjson-dev|JSON: task.json, messages between the programs|demo
libsqlite3-dev|the event log of a run|demo
libzstd-dev|compresses what the log keeps|demo
libssl-dev|SHA-256, the names of stored sources and plans|demo
libseccomp-dev|system call filters of the jail|demo
libinih-dev|reads themes and key maps|demo
libcmocka-dev|unit tests|test
libvterm-dev|a terminal in a test: golden screens|test
git|a test looks at what is under version control|test
librsvg2-bin|turns screens into PNG|pictures
fonts-dejavu-core|the letters of the pictures|pictures
clang-tidy|make tidy|tools
clang-format|make format|tools
LIST
}

case $want in
demo) levels='demo' ;;
test) levels='demo test' ;;
pictures) levels='demo test pictures' ;;
tools) levels='demo test tools' ;;
*) echo "setup.sh: expected demo, test, pictures or tools, not \"$want\"" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    # Not a Debian or Ubuntu: the packages have other names there, so only the programs are looked for.
    missing=
    for tool in gcc pkg-config; do
        command -v $tool >/dev/null 2>&1 || missing="$missing $tool"
    done
    if command -v pkg-config >/dev/null 2>&1; then
        for lib in ncursesw libcjson sqlite3 libzstd libcrypto libseccomp inih; do
            pkg-config --exists $lib 2>/dev/null || missing="$missing $lib"
        done
    fi
    [ -z "$missing" ] && exit 0
    echo "This is no Debian or Ubuntu (no apt-get), so nothing is installed. Missing:$missing" >&2
    echo "Install them (with headers) by the means of this system, then try again." >&2
    exit 2
fi

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=$(packages | while IFS='|' read -r name why level; do
    case " $levels " in *" $level "*) ;; *) continue ;; esac
    installed "$name" || printf '%s|%s\n' "$name" "$why"
done)
[ -z "$missing" ] && exit 0

names=$(printf '%s\n' "$missing" | cut -d'|' -f1 | tr '\n' ' ')
echo "These packages are missing:"
printf '%s\n' "$missing" | while IFS='|' read -r name why; do printf '  %-18s %s\n' "$name" "$why"; done

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    as_root=sudo
else
    echo "They cannot be installed from here (neither root nor sudo). Somebody with rights types:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends $names" >&2
    exit 2
fi

echo "Installing them: $as_root apt-get install -y --no-install-recommends $names"
# A list of packages that is there may do; a fresh machine has none, a stale one names gone files.
install() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        $names </dev/null
}
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
if install >"$log" 2>&1 || { $as_root apt-get update -qq >>"$log" 2>&1 && install >>"$log" 2>&1; }; then
    echo "Installed."
    exit 0
fi
tail -n 20 "$log" >&2
echo "apt-get failed (its last lines are above). Once it works, this is the command:" >&2
echo "  apt-get update && apt-get install -y --no-install-recommends $names" >&2
exit 2
