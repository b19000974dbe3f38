#!/bin/sh
# Lines of product Rust, a room each: without blank lines, comments and unit tests.
# Usage: tests/lines.sh [DIRECTORY], another checkout's perhaps.
set -eu
cd "${1:-$(dirname "$0")/..}"

# A room is a directory or a file directly below src.
find src build.rs -name '*.rs' ! -name '*_tests.rs' ! -name tests.rs ! -path '*/tests/*' | LC_ALL=C sort | xargs awk '
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
# What stands under #[cfg(test)] goes up to its semicolon, or to the brace that closes it, as rustfmt sets them.
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
