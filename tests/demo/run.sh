#!/bin/sh
# The whole story on this machine: a private MariaDB with sample data and a small web site, a relay, and a manager that
# shares both through it. Everything lives in a temporary directory and is gone after Ctrl-C. Arguments go to
# `postern start`, for example --no-open.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PATH="$PATH:/usr/sbin:/usr/local/sbin"
postern=${POSTERN_BIN:-$root/target/release/postern}
site=${POSTERN_DEMO_SITE:-$root/target/release/examples/demo-site}

say() { printf 'demo: %s\n' "$*"; }
fail() {
    say "$*" >&2
    exit 1
}

for tool in mariadbd mariadb-install-db mariadb; do
    command -v "$tool" >/dev/null || fail "$tool is missing; run tests/setup.sh"
done
if [ ! -x "$postern" ] || [ ! -x "$site" ]; then
    say 'building postern'
    (cd "$root" && cargo build --release --bin postern --example demo-site)
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/postern-demo.XXXXXX")
database='' website='' relay='' manager=''
clean_up() {
    trap '' INT TERM HUP
    for pid in $manager $relay $website $database; do kill "$pid" 2>/dev/null || true; done
    for pid in $manager $relay $website $database; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap clean_up EXIT
# A signal is the way it is meant to end: make has nothing to complain of.
trap 'exit 0' INT TERM HUP

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

# Waits until a program has written a line that begins so; what follows is in $answer. Failure when it ended before.
# Not for $(…): only the shell that started the program notices its end.
wait_line() {
    file=$1 begin=$2 pid=$3
    while ! grep -q "^$begin" "$file" 2>/dev/null; do
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.1
    done
    answer=$(sed -n "s|^$begin||p" "$file" | head -n 1)
}

# Settings for the user's own programs must not reach these.
unset POSTERN_SERVER POSTERN_ENROLL_TOKEN POSTERN_DB_PASS POSTERN_HTML
export POSTERN_HOME="$dir/home"

say 'starting a web site, a relay and the manager'
"$site" >"$dir/site.log" 2>&1 &
website=$!
wait_line "$dir/site.log" '' "$website" || fail 'the web site does not start'
site_port=$answer

# On its usual ports, else on free ones.
start_relay() {
    "$postern" relay "$@" >"$dir/relay.log" 2>&1 &
    relay=$!
    if wait_line "$dir/relay.log" 'Status page: ' "$relay"; then return 0; fi
    wait "$relay" || true
    relay=''
    return 1
}
if ! start_relay && ! start_relay --listen=127.0.0.1:0 --tunnel-listen=127.0.0.1:0; then
    cat "$dir/relay.log" >&2
    fail 'the relay does not start'
fi
status_page=$answer
wait_line "$dir/relay.log" 'Listening on: ' "$relay"
server="http://$answer"

"$postern" plugin add mysql >/dev/null
POSTERN_DB_PASS=demo "$postern" app add mysql "127.0.0.1:$port" --name 'Sample database' --site-name database \
    --db-user demo --autoconnect >/dev/null
"$postern" app add http "127.0.0.1:$site_port" --name 'Small web site' --site-name small --autoconnect >/dev/null

start_manager() {
    "$postern" start "$@" --server "$server" >"$dir/start.log" 2>&1 &
    manager=$!
    if wait_line "$dir/start.log" 'Management page: ' "$manager"; then return 0; fi
    wait "$manager" || true
    manager=''
    return 1
}
if ! start_manager 8181 "$@" && ! start_manager 0 "$@"; then
    cat "$dir/start.log" >&2
    fail 'the manager does not start'
fi
page=$answer

# Answers a text out of what `postern app connect --json` prints.
text_of() { printf '%s\n' "$1" | sed -n "/^  \"$2\"/s/.*: *\"\([^\"]*\)\".*/\1/p"; }

database_app=$("$postern" app connect 'Sample database' --json) || fail 'the database cannot be connected'
site_app=$("$postern" app connect 'Small web site' --json) || fail 'the web site cannot be connected'
cat <<END

  Applications  $page
  Small site    $(text_of "$site_app" site_url)
  Database      $(text_of "$database_app" site_url)
                read-only and invisible; the code is already in this link:
                $(text_of "$database_app" auth_url)
  Relay         $status_page
                for the relay's operator

  MariaDB       127.0.0.1:$port with shop (200,000 events), library, warehouse (64 tables), odd_types;
                user demo, password demo; without relay and tunnel, and read-write:
                POSTERN_HOME=$POSTERN_HOME $postern mysql 127.0.0.1:$port --db-user demo --db-pass demo

  Names under .localhost open in browsers; other programs may not find them.
  Ctrl-C stops and removes everything.

END
status=0
wait "$manager" || status=$?
manager=''
exit "$status"
