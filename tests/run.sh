#!/bin/sh
# Runs everything that must hold before a change is accepted; the last line counts the tests.
# Usage: tests/run.sh [PROGRAM[@SERVER]...]: these test programs alone, as in `tests/run.sh tunnel sql@mysql-9.7`.
# POSTERN_TEST_SERVERS lists further servers of tests/servers.sh, or is `all`: there run the tests whose answer depends on
# the server. POSTERN_TEST_WHOLE=1 is the long form of each test (make nightly), where no test gets a second chance.
# RUST_TEST_THREADS sets how many tests of a program run at once, POSTERN_TEST_SHUFFLE another order (a number).
set -eu
cd "$(dirname "$0")/.."
unset POSTERN_TEST_SERVER
out=target/test
began=$(date +%s)

# phase NAME: prints the seconds since the last phase.
phase() {
    now=$(date +%s)
    echo "phase $1: $((now - began)) s"
    began=$now
}

# Modules of `sql` and `manager`, and tests of `browser`, whose answers depend on the server.
of_sql='api::answers:: api::edit_types:: api::limits:: api::scripts:: api::search:: api::sessions:: api::time_zone::
    cluster::on_
    dump:: everyday:: gate_ on_mariadb:: on_mysql:: readonly:: shared_accounts:: values::'
of_manager='guest::'
of_browser='sql::on_mysql:: sql::data::on_mariadb:: sql::data::a_timestamp_in sql::edit::long_texts sql::edit::a_cell_is
    sql::structure:: sql::structure_review:: sql::dumps::a_database_is sql::filters::each_value sql::import::an_export_is sql::server::a_query_that sql::structure_tables::'

tests/setup.sh
phase setup
if [ $# = 0 ]; then
    make --no-print-directory lint
    phase lint
fi

# All test programs, a line each: name and path. The library's and the program's own tests are both called postern; those
# of the package rows are called that.
rm -rf "$out"
mkdir -p "$out"
cargo test --locked --no-run --message-format=json-render-diagnostics >"$out/build.json"
sed -n '/"test":true},"features"/s/.*"kind":\["\([a-z]*\)"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2 \3/p' "$out/build.json" |
    while read -r kind name path; do
        case $kind/$name in test/*) ;; */postern) name=$kind ;; esac
        echo "$name $path"
    done | LC_ALL=C sort >"$out/programs"
if ! grep -q '^perf ' "$out/programs"; then
    echo 'tests: cargo lists no test programs' >&2
    exit 1
fi
phase build

# program NAME[@SERVER] ARGUMENT...: becomes the test program, on that server, without the tests for another kind. The
# test runner gives the time of each test to those who are called unstable.
program() {
    path=$(sed -n "s/^${1%@*} //p" "$out/programs")
    case $1 in *@*) export POSTERN_TEST_SERVER="${1#*@}" ;; esac
    case $1 in *@mysql-*) other=on_mariadb:: ;; *) other=on_mysql:: ;; esac
    shift
    [ -x "target/servers/${POSTERN_TEST_SERVER:-}/usr/bin/mysqlrouter" ] || set -- --skip on_mysql::router "$@"
    [ -z "${POSTERN_TEST_SHUFFLE:-}" ] || set -- --shuffle-seed "$POSTERN_TEST_SHUFFLE" "$@"
    RUSTC_BOOTSTRAP=1 exec "$path" -Z unstable-options --report-time --skip "$other" "$@"
}

# run THREADS NAME[@SERVER] FILTER...: one program to its end, its output to a file.
run() {
    export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$1}"
    name=$2 start=$(date +%s)
    shift
    program "$@" >"$out/$name.log" 2>&1 </dev/null &
    echo $! >"$out/$name.pid"
    wait $! && status=0 || status=$?
    rm -f "$out/$name.pid"
    echo "$status" >"$out/$name.status"
    echo "$name: $(sed -n 's/^test result: //p' "$out/$name.log" | grep . || echo "did not end, status $status")," \
        "$(($(date +%s) - start)) s"
}

# lane THREADS NAME[@SERVER]...: programs in a row; on further servers what depends on the server.
lane() {
    threads=$1
    shift
    for name in "$@"; do
        filters=''
        case $name in browser@*) filters=$of_browser ;; manager@*) filters=$of_manager ;; sql@*) filters=$of_sql ;; esac
        [ -z "${POSTERN_TEST_WHOLE:-}" ] || filters=''
        # shellcheck disable=SC2086 # a list of words
        (run "$threads" "$name" $filters)
    done
}

stop() {
    trap - INT TERM
    # The lanes first, or they would go on with the next program.
    # shellcheck disable=SC2086
    kill $lanes 2>/dev/null || :
    for pid in "$out"/*.pid; do
        if [ -e "$pid" ]; then kill "$(cat "$pid")" 2>/dev/null || :; fi
    done
    exit 130
}

names=$*
if [ $# = 0 ]; then
    names=$(sed 's/ .*//' "$out/programs")
    servers=${POSTERN_TEST_SERVERS:-}
    if [ "$servers" = all ]; then
        servers=$(for run in target/servers/*/run; do if [ -x "$run" ]; then basename "${run%/run}"; fi; done)
        case $servers in *mysql-*) ;; *) echo 'tests: no MySQL, see target/servers/missing' >&2 && exit 1 ;; esac
    fi
    for server in $servers; do
        names="$names sql@$server browser@$server manager@$server"
        case $server in mysql-*) names="$names fleet@$server" ;; esac
    done
fi

# chosen PATTERN: those of the names.
chosen() { printf '%s\n' $names | grep -E "^($1)(@|$)" || :; }

# Three lanes, since most tests wait more than they compute; the browser's compute. What measures, and the soak, run alone.
cores=$(nproc)
# shellcheck disable=SC2046
lane $((cores * 2)) $(chosen browser) &
lanes=$!
# shellcheck disable=SC2046
lane $((cores * 2)) $(chosen 'sql|tunnel') &
lanes="$lanes $!"
# shellcheck disable=SC2046
lane $((cores * 2)) $(printf '%s\n' $names | grep -vE '^(browser|sql|tunnel|perf|soak)(@|$)') &
lanes="$lanes $!"
trap stop INT TERM
for lane in $lanes; do wait "$lane"; done
phase tests
# shellcheck disable=SC2046
RUST_TEST_THREADS=1 lane 1 $(chosen 'soak|perf') &
lanes=$!
wait $lanes
phase measured
if [ $# = 0 ]; then
    cargo test --locked --doc >"$out/doc.log" 2>&1 && echo 0 >"$out/doc.status" || echo $? >"$out/doc.status"
    names="$names doc"
    phase examples
fi

# A loaded machine must not refuse a whole change: the few tests that failed beside others get a second chance alone.
: >"$out/second_chances"
for name in $names; do
    case $name in perf* | soak* | doc) continue ;; esac
    sed -n "s/^test \(.*\) \.\.\. FAILED.*/$name \1/p" "$out/$name.log"
done | sort -u >"$out/failures"
if [ -z "${POSTERN_TEST_WHOLE:-}" ] && [ "$(wc -l <"$out/failures")" -le 5 ]; then
    while read -r name test; do
        echo "---- again: $name $test" >>"$out/again"
        (RUST_TEST_THREADS=1 program "$name" --exact "$test") >"$out/one" 2>&1 </dev/null || :
        if grep -q '^test result: ok. 1 passed' "$out/one"; then echo "$name $test" >>"$out/second_chances"; fi
        cat "$out/one" >>"$out/again"
    done <"$out/failures"
fi

failed=''
for name in $names; do
    if [ "$(cat "$out/$name.status")" = 0 ] && grep -q '^test result: ok' "$out/$name.log"; then continue; fi
    echo "---- $name"
    cat "$out/$name.log"
    # Every test that the summary counts as failed has passed since.
    count=$(sed -n 's/^test result: FAILED.* \([0-9]*\) failed;.*/\1/p' "$out/$name.log")
    [ "$count" = "$(grep -c "^$name " "$out/second_chances")" ] || failed="$failed $name"
done
if [ -e "$out/again" ]; then cat "$out/again"; fi
echo 'the ten slowest tests:'
for log in "$out"/*.log; do
    sed -n "s/^test \(.*\) \.\.\. .*<\([0-9.]*\)s>\$/\2 s $(basename "$log" .log) \1/p" "$log"
done | sort -rn | head -n 10
if [ -n "$failed" ]; then echo "failed:$failed"; fi
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
