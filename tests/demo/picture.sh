#!/bin/sh
# Makes the picture in README from the running program: the demo's applications, one invisible and one that ends.
# Usage: tests/demo/picture.sh [FILE.png]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
file=${1:-$here/page.png}
postern=${POSTERN_BIN:-$here/../../target/release/postern}
dir=$(mktemp -d "${TMPDIR:-/tmp}/postern-picture.XXXXXX")
demo=''
clean_up() {
    [ -z "$demo" ] || { kill "$demo" 2>/dev/null && wait "$demo"; } || true
    rm -rf "$dir"
}
trap clean_up EXIT

"$here/run.sh" --no-open >"$dir/demo.log" 2>&1 &
demo=$!
until grep -q 'Ctrl-C stops and removes' "$dir/demo.log"; do
    kill -0 "$demo" || { cat "$dir/demo.log" >&2; exit 1; }
    sleep 0.2
done
page=$(sed -n 's/^ *Applications *//p' "$dir/demo.log")
POSTERN_HOME=$(sed -n 's/.*POSTERN_HOME=\([^ ]*\) .*/\1/p' "$dir/demo.log")
export POSTERN_HOME
"$postern" app edit 'Sample database' --for 1h
"$postern" app edit 'Small web site' --invisible
"$postern" app disconnect 'Small web site'
"$postern" app connect 'Small web site' >/dev/null
"$postern" app add ssh 22 --name 'Build box' >/dev/null

"${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars \
    --user-data-dir="$dir/browser" --window-size=1080,430 --virtual-time-budget=6000 \
    --screenshot="$file" "$page" 2>/dev/null
echo "picture: $file, $(stat -c %s "$file") bytes"
