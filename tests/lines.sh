#!/bin/sh
# Lines and files of each room of product Rust (without blank lines, comments and unit tests), then of everything else
# that grows: pages, build, tests, OpenAPI by hand.
# Usage: tests/lines.sh [DIRECTORY], another checkout's perhaps; tests/lines.sh --check compares with tests/budget.txt.
set -eu
check=''
if [ "${1:-}" = --check ]; then check=yes && shift; fi
cd "${1:-$(dirname "$0")/..}"

rooms() {
    # A room is a directory or a file directly below src.
    find src -name '*.rs' ! -name '*_tests.rs' ! -name tests.rs ! -path '*/tests/*' | LC_ALL=C sort | xargs awk '
FNR == 1 {
    n = split(FILENAME, part, "/")
    room = n > 2 ? part[2] "/" : part[n]
    if (!(room in lines)) order[++rooms] = room
    files[room]++
    state = "code"
}
{
    indent = match($0, /[^ ]/) - 1
    text = substr($0, indent + 1)
}
state == "block comment" { if (text ~ /\*\//) state = "code"; next }
text == "" || text ~ /^\/\// { next }
text ~ /^\/\*/ { if (text !~ /\*\//) state = "block comment"; next }
# An item under #[cfg(test)] ends at its semicolon, or at its closing brace, as rustfmt sets them.
text == "#[cfg(test)]" && state == "code" { state = "test"; at = indent; next }
state == "test" && text ~ /^#\[/ { next }
state == "test" && text ~ /;$/ && indent == at { state = "code"; next }
state == "test" && text ~ /^}/ && indent == at { state = "code"; next }
state == "test" && text ~ /}$/ && text ~ /{/ && indent == at { state = "code"; next }
state == "test" { next }
{ lines[room]++ }
END {
    for (i = 1; i <= rooms; i++) {
        printf "%-16s %5d lines %4d files\n", order[i], lines[order[i]], files[order[i]]
        sum += lines[order[i]]; all += files[order[i]]
    }
    printf "%-16s %5d lines %4d files\n", "all", sum, all
}'
}

# others NAME FIND_ARGUMENT...: all lines of these files.
others() {
    name=$1
    shift
    find "$@" -type f -exec cat {} + | awk -v name="$name" -v files="$(find "$@" -type f | wc -l)" \
        'END { printf "%-16s %5d lines %4d files\n", name, NR, files }'
}

count() {
    rooms
    # The descriptions by hand: routes in Rust, with what writes the files. Generated ones, which unit tests compare with
    # their source, are not counted: each openapi.json, and types.d.ts beside the pages.
    others openapi src \( -name openapi_tests.rs -o -name typescript_tests.rs \)
    others html html ! -path 'html/*/types.d.ts'
    others build build build.rs
    others tests tests \( -name '*.rs' -o -name '*.js' -o -name '*.mjs' -o -name '*.py' -o -name '*.sh' \)
}

if [ -z "$check" ]; then
    count
    exit
fi
count | awk '
FNR == NR { if ($0 !~ /^#/ && NF) { lines[$1] = $2; files[$1] = $4 } next }
$1 == "all" { next }
!($1 in lines) { print "budget: tests/budget.txt has no line for " $1; bad = 1; next }
$2 > lines[$1] || $4 > files[$1] {
    printf "budget: %s has %d lines in %d files; tests/budget.txt allows %d in %d\n", $1, $2, $4, lines[$1], files[$1]
    bad = 1
}
END {
    if (bad) print "budget: remove something, or raise the line in tests/budget.txt and give the reason in the commit"
    exit bad
}' tests/budget.txt - >&2
