#!/bin/sh
# Everything that must hold before a change is accepted. Ends with the number of tests passed and failed.
# RUST_TEST_THREADS sets how many tests of a program run at once. POSTERN_TEST_SERVERS lists servers that the tests of
# the SQL client run on once more, beside the installed MariaDB: names of tests/servers.sh, or `all` that it fetched; a
# MySQL is the store of a fleet too.
set -eu
cd "$(dirname "$0")/.."
unset POSTERN_TEST_SERVER

tests/setup.sh
make --no-print-directory lint
cargo build --locked

# All test programs, a line each: name and path. The library's and the program's own tests are both called postern; those
# of the package rows are called that.
out=target/test
rm -rf "$out"
mkdir -p "$out"
cargo test --locked --no-run --message-format=json-render-diagnostics >"$out/build.json"
sed -n '/"test":true},"features"/s/.*"kind":\["\([a-z]*\)"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2 \3/p' "$out/build.json" |
    while read -r kind name path; do
        case $kind/$name in test/*) ;; */postern) name=$kind ;; esac
        echo "$name $path"
    done | LC_ALL=C sort >"$out/programs"
if ! grep -q '^perf ' "$out/programs"; then
    echo 'tests: cargo names no test programs' >&2
    exit 1
fi

servers=${POSTERN_TEST_SERVERS:-}
if [ "$servers" = all ]; then
    servers=$(for run in target/servers/*/run; do if [ -x "$run" ]; then basename "${run%/run}"; fi; done)
fi

# program NAME[@SERVER] ARGUMENT...: becomes the test program, on that server, without the tests for another kind.
program() {
    path=$(sed -n "s/^${1%@*} //p" "$out/programs")
    case $1 in *@*) export POSTERN_TEST_SERVER="${1#*@}" ;; esac
    case $1 in *@mysql-*) other=on_mariadb:: ;; *) other=on_mysql:: ;; esac
    shift
    [ -x "target/servers/${POSTERN_TEST_SERVER:-}/usr/bin/mysqlrouter" ] || set -- --skip on_mysql::router "$@"
    exec "$path" --skip "$other" "$@"
}

# run NAME[@SERVER] THREADS ARGUMENT...: one program to its end, its output to a file.
run() {
    name=$1 began=$(date +%s)
    export RUST_TEST_THREADS="$2"
    shift 2
    program "$name" "$@" >"$out/$name.log" 2>&1 &
    echo $! >"$out/$name.pid"
    wait $! && status=0 || status=$?
    rm -f "$out/$name.pid"
    echo "$status" >"$out/$name.status"
    echo "$name: $(sed -n 's/^test result: //p' "$out/$name.log" | grep . || echo "did not end, status $status")," \
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

# Most tests wait more than they compute; the browser's compute. What measures, and the soak, run alone.
cores=$(nproc)
others=$(sed 's/ .*//' "$out/programs" | grep -vx -e browser -e perf -e soak)
# shellcheck disable=SC2086 # a list of words
lane $((cores * 3)) $others &
waiting=$!
lane $((cores * 2)) browser &
browsing=$!
trap 'stop $waiting $browsing' INT TERM
wait $waiting
wait $browsing
of_fleet() {
    case $1 in mysql-*) echo "fleet@$1" ;; esac
}
for server in $servers; do
    # shellcheck disable=SC2046 # one word, or none
    lane $((cores * 3)) "sql@$server" $(of_fleet "$server") &
    waiting=$!
    run "browser@$server" "${RUST_TEST_THREADS:-$((cores * 2))}" sql:: &
    browsing=$!
    wait $waiting
    wait $browsing
done
RUST_TEST_THREADS=1 lane 1 soak perf &
waiting=$!
wait $waiting

cargo test --locked --doc >"$out/doc.log" 2>&1 && echo 0 >"$out/doc.status" || echo $? >"$out/doc.status"

names=$(sed 's/ .*//' "$out/programs")
for server in $servers; do names="$names sql@$server $(of_fleet "$server") browser@$server"; done

# A loaded machine must not refuse a whole change: the few tests that failed beside others get a second chance alone.
: >"$out/second_chances"
for name in $names; do
    case $name in perf | soak) continue ;; esac
    sed -n "s/^test \(.*\) \.\.\. FAILED\$/$name \1/p" "$out/$name.log"
done | sort -u >"$out/failures"
if [ "$(wc -l <"$out/failures")" -le 5 ]; then
    while read -r name test; do
        echo "---- again: $name $test" >>"$out/again"
        (RUST_TEST_THREADS=1 program "$name" --exact "$test") >"$out/one" 2>&1 </dev/null || :
        if grep -q '^test result: ok. 1 passed' "$out/one"; then echo "$name $test" >>"$out/second_chances"; fi
        cat "$out/one" >>"$out/again"
    done <"$out/failures"
fi

failed=''
for name in $names doc; do
    echo "---- $name"
    cat "$out/$name.log"
    if [ "$(cat "$out/$name.status")" != 0 ] || ! grep -q '^test result: ok' "$out/$name.log"; then
        # Every test that the summary counts as failed has passed since.
        count=$(sed -n 's/^test result: FAILED.* \([0-9]*\) failed;.*/\1/p' "$out/$name.log")
        [ "$count" = "$(grep -c "^$name " "$out/second_chances")" ] || failed="$failed $name"
    fi
done
if [ -e "$out/again" ]; then cat "$out/again"; fi
if [ -n "$failed" ]; then echo "not good:$failed"; fi
if [ "${POSTERN_TEST_SERVERS:-}" = all ] && [ -e target/servers/missing ]; then
    sed 's/^/not tried: /' target/servers/missing
fi
sed 's/^/passed only when run again alone: /' "$out/second_chances"
cat "$out"/*.log | awk -v again="$(wc -l <"$out/second_chances")" '/^test result: / {
	for (i = 2; i < NF; i++) {
		if ($(i + 1) == "passed;") passed += $i
		if ($(i + 1) == "failed;") failed += $i
	}
} END { printf "%d passed, %d failed\n", passed + again, failed - again }'
[ -z "$failed" ]
