#!/bin/sh
# The long forms, in parts of at most 40 minutes: `make nightly` runs all, `make nightly PARTS='soak fuzz'` some. Each part
# appends a line to tests/nightly.txt: the date, the commit, its result and how long it took. A test that passes only when
# it is run again alone has failed here.
set -eu
cd "$(dirname "$0")/.."
[ $# != 0 ] || set -- base versions crates servers suites chromium fuzz soak fleet static apple dist
export POSTERN_TEST_WHOLE=1
further=$(tests/servers.sh | grep -v '^cannot')

# on SERVER...: the programs that talk to a database, on each server.
on() {
    for server in "$@"; do
        printf ' sql@%s browser@%s manager@%s' "$server" "$server" "$server"
        case $server in mysql-*) printf ' fleet@%s' "$server" ;; esac
    done
}

# The servers' own regression tests, on the installed MariaDB and on all others, and the tables in them through the modules
# that change tables; a MySQL must be among the servers.
suites() {
    tests/servers.sh suites || return 1
    case $further in *mysql-*) failed=0 ;; *) echo 'nightly: no MySQL' && failed=1 ;; esac
    for server in '' $further; do
        POSTERN_TEST_SUITES=1 POSTERN_TEST_SERVER=$server cargo test --locked --test sql suites:: -- --nocapture || failed=1
        POSTERN_TEST_SUITES=1 POSTERN_TEST_SERVER=$server cargo test --locked --test browser sql::structure_tables:: -- --nocapture || failed=1
    done
    return "$failed"
}

# A relay and members of which one is of today and the other older: the last commit before names could be handed over.
versions() {
    old=cf058c92 tree=target/old/tree
    [ -d "$tree" ] || git worktree add --detach "$tree" "$old" || return 1
    (cd "$tree" && cargo build --locked --target-dir ../build) || return 1
    POSTERN_TEST_OLD=$PWD/target/old/build/debug/postern cargo test --locked --test manager versions::
}

# The newest and the oldest versions of crates that Cargo.toml allows.
crates() {
    tree=target/crates failed=0
    [ -d "$tree" ] || git worktree add --detach "$tree" || return 1
    tests/setup.sh && mkdir -p "$tree/target" && ln -sfn "$PWD/target/peers" "$tree/target/peers"
    for which in '' '-Z direct-minimal-versions'; do
        # shellcheck disable=SC2086 # a list of words
        git -C "$tree" checkout --force --detach "$(git rev-parse HEAD)" &&
            (cd "$tree" && RUSTC_BOOTSTRAP=1 cargo update $which && tests/run.sh lib cli http ssh tunnel) || failed=1
    done
    return "$failed"
}

part() {
    # shellcheck disable=SC2046,SC2086 # lists of words
    case $1 in
        base) POSTERN_KILLS=60 tests/run.sh cli fleet http lib manager relay sql ssh tunnel perf ;;
        servers) tests/run.sh $(on $further) ;;
        suites) suites ;;
        versions) versions ;;
        crates) crates ;;
        chromium) CHROMIUM=chromium tests/run.sh browser ;;
        fuzz) tests/fuzz/run.sh 300 ;;
        soak) make --no-print-directory soak MINUTES=15 ;;
        fleet) make --no-print-directory fleet ;;
        static) make --no-print-directory static ;;
        apple) make --no-print-directory apple ;;
        dist) make --no-print-directory dist && tests/dist.sh ;;
        *) echo "nightly: unknown part $1" >&2 && exit 2 ;;
    esac
}

bad=''
for name in "$@"; do
    began=$(date +%s) log=target/nightly-$name.log result=passed
    echo "nightly: $name"
    part "$name" >"$log" 2>&1 || { result=FAILED bad="$bad $name" && tail -n 60 "$log"; }
    counted=$(sed -n 's/^\([0-9]* passed, [0-9]* failed\)$/, \1/p' "$log" | tr -d '\n')
    echo "$(date +%F) $(git rev-parse --short HEAD) $name: $result$counted, $(($(date +%s) - began)) s" | tee -a tests/nightly.txt
done
[ -z "$bad" ]
