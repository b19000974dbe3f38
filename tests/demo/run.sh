#!/bin/sh
# A private MariaDB with sample data and the web client opened on it. Everything lives in a temporary directory and
# is gone after Ctrl-C. Arguments go to `postern mysql`, for example --readonly.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PATH="$PATH:/usr/sbin:/usr/local/sbin"
postern=${POSTERN_BIN:-$root/target/release/postern}

say() { printf 'demo: %s\n' "$*"; }
fail() {
    say "$*" >&2
    exit 1
}

for tool in mariadbd mariadb-install-db mariadb; do
    command -v "$tool" >/dev/null || fail "$tool is missing; run tests/setup.sh"
done
if [ ! -x "$postern" ]; then
    say 'building postern'
    (cd "$root" && cargo build --release)
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/postern-demo.XXXXXX")
database='' client=''
clean_up() {
    trap '' INT TERM HUP
    for pid in $client $database; do kill "$pid" 2>/dev/null || true; done
    for pid in $client $database; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap clean_up EXIT
# Ctrl-C is the way it is meant to end.
trap 'exit 0' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

as_root=''
[ "$(id -u)" != 0 ] || as_root=--user=root

# A starting server removes the temporary tables of every server it shares a temporary directory with.
export TMPDIR="$dir"

say 'preparing a private MariaDB'
# shellcheck disable=SC2086 # an option or nothing
mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal --skip-test-db \
    --innodb-log-file-size=16M $as_root >"$dir/install.log" 2>&1 || {
    cat "$dir/install.log" >&2
    fail 'the database cannot be prepared'
}

answers() { mariadb --no-defaults --socket="$dir/s" --user=root --execute='SELECT 1' >/dev/null 2>&1; }

# Answers success once the server does; failure when it ended, as it does when the port is taken.
start_database() {
    # shellcheck disable=SC2086
    mariadbd --no-defaults --datadir="$dir/data" --socket="$dir/s" --pid-file="$dir/pid" --port="$1" \
        --bind-address=127.0.0.1 --innodb-log-file-size=16M --innodb-flush-log-at-trx-commit=0 \
        --innodb-fast-shutdown=2 --character-set-server=utf8mb4 $as_root >"$dir/mariadb.log" 2>&1 &
    database=$!
    while kill -0 "$database" 2>/dev/null; do
        if answers; then return 0; fi
        sleep 0.1
    done
    database=''
    return 1
}

port='' attempt=0
while [ -z "$database" ]; do
    attempt=$((attempt + 1))
    if [ "$attempt" -gt 5 ]; then
        cat "$dir/mariadb.log" >&2
        fail 'MariaDB does not start'
    fi
    port=$((20000 + ($$ * 7 + attempt * 997) % 20000))
    start_database "$port" || true
done

say 'filling in sample data'
for file in accounts shop library warehouse odd_types; do
    mariadb --no-defaults --socket="$dir/s" --user=root --default-character-set=utf8mb4 <"$here/$file.sql"
done

export POSTERN_HOME="$dir/home"
"$postern" plugin add mysql >/dev/null
cat <<END

  MariaDB    127.0.0.1:$port
  read-write demo / demo      what the web client below uses
  read-only  viewer / viewer  try: $postern plugin add mysql
                                   $postern mysql 127.0.0.1:$port --db-user viewer --db-pass viewer
  databases  shop (200,000 events), library, warehouse (64 tables), odd_types
  stop       Ctrl-C; nothing is left behind

END
POSTERN_DB_PASS=demo "$postern" mysql "127.0.0.1:$port" --db-user demo "$@" &
client=$!
status=0
wait "$client" || status=$?
client=''
exit "$status"
