#!/bin/sh
# Everything that must hold before a change is accepted. Ends with the number of tests passed and failed.
# RUST_TEST_THREADS sets how many tests of a program run at once.
set -eu
cd "$(dirname "$0")/.."

tests/setup.sh
make --no-print-directory lint
cargo build --locked

# All test programs, a line each: name and path. The library's and the program's own tests are both called postern.
out=target/test
rm -rf "$out"
mkdir -p "$out"
cargo test --locked --no-run --message-format=json-render-diagnostics >"$out/build.json"
sed -n '/"test":true},"features"/s/.*"kind":\["\([a-z]*\)"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2 \3/p' "$out/build.json" |
    while read -r kind name path; do
        case $kind in test) ;; *) name=$kind ;; esac
        echo "$name $path"
    done | LC_ALL=C sort >"$out/programs"
if ! grep -q '^perf ' "$out/programs"; then
    echo 'tests: cargo names no test programs' >&2
    exit 1
fi

# run NAME THREADS: one program to its end, its output to a file.
run() {
    path=$(sed -n "s/^$1 //p" "$out/programs")
    began=$(date +%s)
    RUST_TEST_THREADS=$2 "$path" >"$out/$1.log" 2>&1 &
    echo $! >"$out/$1.pid"
    wait $! && status=0 || status=$?
    rm -f "$out/$1.pid"
    echo "$status" >"$out/$1.status"
    echo "$1: $(sed -n 's/^test result: //p' "$out/$1.log" | grep . || echo "did not end, status $status")," \
        "$(($(date +%s) - began)) s"
}

# Programs in a row, with as many threads; those of RUST_TEST_THREADS if it is set.
lane() {
    threads=${RUST_TEST_THREADS:-$1}
    shift
    for name in "$@"; do run "$name" "$threads"; done
}

stop() {
    trap - INT TERM
    # The lanes first, or they would go on with the next program.
    kill "$@" 2>/dev/null || :
    for pid in "$out"/*.pid; do
        if [ -e "$pid" ]; then kill "$(cat "$pid")" 2>/dev/null || :; fi
    done
    exit 130
}

# Most tests wait more than they compute; the browser's compute. What measures runs alone.
cores=$(nproc)
others=$(sed 's/ .*//' "$out/programs" | grep -vx -e browser -e perf)
# shellcheck disable=SC2086 # a list of words
lane $((cores * 3)) $others &
waiting=$!
lane $((cores * 2)) browser &
browsing=$!
trap 'stop $waiting $browsing' INT TERM
wait $waiting
wait $browsing
RUST_TEST_THREADS=1 lane 1 perf &
waiting=$!
wait $waiting

cargo test --locked --doc >"$out/doc.log" 2>&1 && echo 0 >"$out/doc.status" || echo $? >"$out/doc.status"

failed=''
for name in $(sed 's/ .*//' "$out/programs") doc; do
    echo "---- $name"
    cat "$out/$name.log"
    if [ "$(cat "$out/$name.status")" != 0 ] || ! grep -q '^test result: ok' "$out/$name.log"; then
        failed="$failed $name"
    fi
done
if [ -n "$failed" ]; then echo "not good:$failed"; fi
cat "$out"/*.log | awk '/^test result: / {
	for (i = 2; i < NF; i++) {
		if ($(i + 1) == "passed;") passed += $i
		if ($(i + 1) == "failed;") failed += $i
	}
} END { printf "%d passed, %d failed\n", passed, failed }'
[ -z "$failed" ]
