#!/bin/sh
# Checks a release executable: static, and at home in a root that holds nothing else.
# Usage: tests/static.sh BINARY [MAX_BYTES], which else tests/budget.txt limits.
set -eu

binary=$1
max_bytes=${2:-$(sed -n 's/^static  *\([0-9]*\) bytes$/\1/p' "$(dirname "$0")/budget.txt")}

fail() {
	echo "static: $*" >&2
	exit 1
}

bytes=$(stat -c %s "$binary")
echo "static: $binary, $bytes bytes"
[ "$bytes" -le "$max_bytes" ] || fail "larger than $max_bytes bytes"
if command -v file >/dev/null; then
	file -b "$binary" | grep -Eq 'static(ally|-pie) linked' || fail "'file' does not report a static executable"
fi
if command -v ldd >/dev/null; then
	# The words differ between a static and a static-pie executable.
	ldd "$binary" 2>&1 | grep -Eq 'not a dynamic executable|statically linked' || fail "'ldd' finds libraries"
fi
"$binary" --version | grep -Eq '^postern [0-9]+\.[0-9]+\.[0-9]+$' || fail "--version"

if [ "$(id -u)" != 0 ]; then
	echo "static: not root, so not tested in an empty root"
	exit 0
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$binary" "$root/postern"
# With nothing in the environment but the assignments that come first.
chroot=$(PATH="$PATH:/usr/sbin:/sbin" command -v chroot) || fail "chroot is missing"
inside() {
	env -i "$@"
}
inside "$chroot" "$root" /postern --version >/dev/null || fail "--version in an empty root"
inside "$chroot" "$root" /postern plugin list | grep -q '^No plugins' || fail "plugin list in an empty root"
inside "$chroot" "$root" /postern plugin add mysql >/dev/null || fail "plugin add in an empty root"
inside "$chroot" "$root" /postern plugin list | grep -Eq '^mysql[[:space:]]' || fail "plugin list after plugin add"
[ "$(stat -c %a "$root/.postern")" = 700 ] || fail "the directory is not private"
inside POSTERN_HOME=/state "$chroot" "$root" /postern plugin add mysql >/dev/null || fail "POSTERN_HOME"
[ -f "$root/state/plugins.json" ] || fail "POSTERN_HOME is not used"

# A closed port: the client starts, resolves, connects and says what happened.
status=0
message=$(inside "$chroot" "$root" /postern mysql 127.0.0.1:1 --db-user u --db-pass p --no-open 2>&1 >/dev/null) || status=$?
[ "$status" = 1 ] || fail "exit status $status for a closed port"
expected='plugin error: cannot connect to 127.0.0.1:1: connection refused
check that the database server runs and that host and port are right'
[ "$message" = "$expected" ] || fail "unexpected message: $message"
echo "static: passed"
