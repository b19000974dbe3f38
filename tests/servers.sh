#!/bin/sh
# Unpacks servers that the system does not have, for the tests to run on too: MySQL and MariaDB of Debian unstable with
# all their libraries, in target/servers/NAME, where NAME is the kind and the version, such as mysql-9.7. Nothing is
# installed and nobody need be root: apt works in a directory of its own, with the mirror that this machine's apt uses.
# An unpacked server is kept; remove it for a newer one.
# Prints the servers that can be used, a line each, and why another cannot be had, which is no failure.
# With the argument `suites`: unpacks the regression tests of both kinds in target/suites instead; a missing one fails.
set -eu
cd "$(dirname "$0")/.."
servers=$PWD/target/${1:-servers}
apt=$servers/apt
mkdir -p "$servers"
exec 9>"$servers/lock"
flock 9

# The longest that apt may take for one server, in seconds.
patience=900

# The mirror of this machine's apt, with its key, turned into one of Debian unstable.
write_source() {
    list='' parts=''
    eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
    rm -rf "$apt/sources"
    mkdir "$apt/sources"
    for file in "$parts"/*.sources; do
        if [ -r "$file" ]; then cat "$file" && echo; fi
    done | awk -v RS= -F '\n' '
        /(^|\n)URIs:[^\n]*\/debian(\.list)?\/?( |\n|$)/ && !/(^|\n)Enabled: *no/ {
            for (i = 1; i <= NF; i++) {
                if ($i !~ /^[ \t#]/) ours = $i ~ /^(Types|Suites|Components|Targets|Enabled):/
                if ($i !~ /^#/ && !ours) print $i
            }
            print "Types: deb\nSuites: unstable\nComponents: main\nTargets: Packages"
            exit
        }' >"$apt/sources/debian.sources"
    [ ! -s "$apt/sources/debian.sources" ] || return 0
    rm "$apt/sources/debian.sources"
    cat "$list" "$parts"/*.list 2>/dev/null |
        sed -n 's#^deb \(\[[^]]*\] *\)\{0,1\}\([^ ]*/debian/\{0,1\}\) .*#deb \1\2 unstable main#p' |
        head -n 1 >"$apt/sources/debian.list"
    [ -s "$apt/sources/debian.list" ]
}

# Everything apt reads and writes, but for its proxies and keys; what the machine does after an update is not for us.
write_configuration() {
    cat >"$apt/apt.conf" <<END
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Debug::NoLocking "true";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
END
}

private_apt() {
    timeout "$patience" apt-get -c "$apt/apt.conf" -q -y "$@" </dev/null >>"$apt/log" 2>&1
}

# prepare: makes apt ready, once; says in $why what is missing.
prepare() {
    [ ! -e "$apt/ready" ] || return 0
    why='apt-get and dpkg are missing'
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : >"$apt/status"
    why="apt has no Debian mirror here"
    write_source || return 1
    write_configuration
    why="the mirror does not answer: $apt/log"
    private_apt update -o APT::Update::Error-Mode=any || return 1
    touch "$apt/ready"
}

# Runs the programs of unstable on another system, with their own loader and libraries.
write_runner() {
    (
        cd "$1"
        loader=$(find usr -name 'ld-linux*.so.*' | LC_ALL=C sort | head -n 1)
        libraries=$(find usr/lib -name 'lib*.so.*' ! -path '*/gconv/*' -printf "\$here/%h\n" | LC_ALL=C sort -u | paste -sd:)
        cat >run <<END
#!/bin/sh
# run PROGRAM ARGUMENT...: a program of this directory with the libraries that came with it.
here=\$(cd "\$(dirname "\$0")" && pwd)
program=\$here/usr/sbin/\$1
[ -x "\$program" ] || program=\$here/usr/bin/\$1
shift
exec "\$here/$loader" --library-path "$libraries" "\$program" "\$@"
END
        chmod +x run
    )
}

# get KIND SERVER PACKAGES ALONE WELCOME: unpacks packages with all they depend on, some without, and some where they can
# be had.
get() {
    kind=$1 server=$2 fresh=$servers/unfinished
    prepare || return 1
    why="a package is missing or cannot be fetched: $apt/log"
    rm -rf "$fresh" "$apt/archives"
    mkdir -p "$fresh" "$apt/archives/partial"
    # shellcheck disable=SC2086 # lists of words
    private_apt install --download-only $3 || return 1
    # shellcheck disable=SC2086
    [ -z "$5" ] || private_apt install --download-only $3 $5 || echo "$kind: continues without $5: $apt/log" >&2
    for package in $4; do
        (cd "$apt/archives" && private_apt download "$package") || return 1
    done
    why="a package cannot be unpacked: $apt/log"
    for package in "$apt/archives"/*.deb; do
        dpkg -x "$package" "$fresh" >>"$apt/log" 2>&1 || return 1
    done
    rm -rf "$apt/archives" "$fresh"/usr/share/doc "$fresh"/usr/share/man "$fresh"/usr/share/perl "$fresh"/usr/lib/*/perl*
    write_runner "$fresh"
    why="it does not run here: $apt/log"
    "$fresh/run" "$server" --no-defaults --version >"$fresh/version" 2>>"$apt/log" || return 1
    version=$(sed -n 's/.* Ver \([0-9]*\.[0-9]*\)\..*/\1/p' "$fresh/version")
    [ -n "$version" ] || return 1
    rm -rf "${servers:?}/$kind-$version"
    mv "$fresh" "$servers/$kind-$version"
}

# want KIND ...: as get, unless such a server is there; notes why there is none.
want() {
    for runner in "$servers/$1"-*/run; do
        [ ! -x "$runner" ] || return 0
    done
    echo "servers: fetching $1" >&2
    get "$@" || echo "$1: $why" >>"$servers/missing"
}

# The apt of this machine: its MariaDB is the one that is installed.
own_apt() {
    apt-get -q "$@" </dev/null >>"$apt/log" 2>&1
}

# suite KIND APT PACKAGE PATH: unpacks the test files of a kind's package, which are at that path in it.
suite() {
    [ ! -d "$servers/$1" ] || return 0
    fresh=$servers/unfinished
    rm -rf "$fresh"
    mkdir -p "$fresh"
    echo "servers: fetching $3" >&2
    why="a package is missing or cannot be fetched: $apt/log"
    (cd "$fresh" && "$2" download "$3") || { "$2" update && (cd "$fresh" && "$2" download "$3"); } || return 1
    why="a package cannot be unpacked: $apt/log"
    (cd "$fresh" && dpkg-deb --fsys-tarfile "$3"_*.deb >all && tar -xf all "./$4") 2>>"$apt/log" || return 1
    mv "$fresh/$4" "$servers/$1" && rm -rf "$fresh"
}

rm -rf "$apt"
mkdir "$apt"
if [ "${1:-}" = suites ]; then
    {
        suite mariadb own_apt mariadb-test-data usr/share/mysql/mysql-test/main &&
            { [ -d "$servers/mysql" ] || prepare; } && suite mysql private_apt mysql-testsuite usr/lib/mysql-test/t
    } || { echo "servers: $why" >&2 && exit 1; }
    rm -rf "$apt"
    exit
fi
: >"$servers/missing"
want mysql mysqld 'mysql-server-core mysql-client-core' '' 'mysql-router'
# The whole package of MariaDB's server has its plugins.
want mariadb mariadbd 'mariadb-server-core mariadb-client-core' 'mariadb-server' ''
for server in "$servers"/mysql-*; do
    if [ -x "$server/run" ] && [ ! -x "$server/usr/bin/mysqlrouter" ]; then
        echo "mysql-router: missing for $(basename "$server"), remove that to fetch it again" >>"$servers/missing"
    fi
done
[ -s "$servers/missing" ] || rm -rf "$apt"

for runner in "$servers"/*/run; do
    if [ -x "$runner" ]; then basename "$(dirname "$runner")"; fi
done
sed 's/^/cannot be had: /' "$servers/missing"
