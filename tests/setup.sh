#!/bin/sh
# Makes sure that everything the tests need is here: installs it on Debian and Ubuntu as root, elsewhere says what to
# install and fails. Asks nothing and skips nothing. The system's own MariaDB service is neither started nor used.
# With the argument `demo`: only what `make demo` needs.
set -eu
scope=${1:-all}

missing_packages=''
missing_text=''

# need WHAT PACKAGE CHECK...: notes the Debian package when the check fails.
need() {
    what=$1 package=$2
    shift 2
    "$@" >/dev/null 2>&1 </dev/null && return 0
    missing_text="$missing_text  $what (Debian package: $package)
"
    case " $missing_packages " in *" $package "*) ;; *) missing_packages="$missing_packages $package" ;; esac
}

has() { command -v "$1"; }

# The headless shell is the same engine at less than half the cost: where Debian has it, it is what is installed.
has_browser() {
    has "${CHROMIUM:-chromium-headless-shell}" && return 0
    if [ "$(id -u)" = 0 ] && apt-cache show chromium-headless-shell; then return 1; fi
    has chromium || has chromium-browser || has google-chrome || has chrome
}

# Debian keeps mariadbd in /usr/sbin, which is not in everybody's PATH.
PATH="$PATH:/usr/sbin:/usr/local/sbin"

plugin_directory() {
    mariadbd --no-defaults --verbose --help 2>/dev/null </dev/null | awk '$1 == "plugin-dir" { print $2 }'
}

has_ed25519() {
    test -e "$(plugin_directory)/auth_ed25519.so"
}

has_faketime() {
    ls /usr/lib/*/faketime/libfaketime.so.1
}

check() {
    missing_packages='' missing_text=''
    need 'the C compiler (for the crate ring)' build-essential has cc
    need 'the MariaDB server' mariadb-server has mariadbd
    need 'mariadb-install-db' mariadb-server has mariadb-install-db
    need 'the MariaDB client' mariadb-client has mariadb
    [ "$scope" != demo ] || return 0
    need 'the authentication plugin auth_ed25519 of MariaDB' mariadb-server has_ed25519
    need 'the replication library Galera' galera-4 test -e /usr/lib/galera/libgalera_smm.so
    need 'HAProxy' haproxy has haproxy
    need 'nginx' nginx has nginx
    need 'Caddy' caddy has caddy
    need 'Django' python3-django /usr/bin/python3 -c 'import django'
    need 'PHP' php-cli has php
    need 'the HttpFoundation of Symfony' php-symfony-http-foundation test -e /usr/share/php/Symfony/Component/HttpFoundation/autoload.php
    need 'libfaketime' libfaketime has_faketime
    need 'Chromium' "${CHROMIUM:-chromium-headless-shell}" has_browser
    need 'OpenSSL' openssl has openssl
    need 'Python 3.11' python3 python3 -c 'import tomllib'
    need 'the module venv of Python 3' python3-venv python3 -c 'import ensurepip, venv'
    need 'Node.js' nodejs has node
    need 'npm (for the TypeScript compiler)' npm has npm
    need 'prlimit and setpriv' util-linux has prlimit
}

install_with_apt() {
    echo "setup: installing$missing_packages"
    export DEBIAN_FRONTEND=noninteractive
    # The tests run servers of their own: without this, installing the package would start the system's.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    apt-get update -q </dev/null
    # shellcheck disable=SC2086 # a list of words
    apt-get install -q -y --no-install-recommends $missing_packages </dev/null
    # Nor at the next start of the machine.
    for service in caddy haproxy nginx; do
        case " $missing_packages " in *" $service "*) systemctl disable --now "$service" >/dev/null 2>&1 || : ;; esac
    done
}

# Rust is not Debian's: its compiler is older than this crate's rust-version.
check_rust() {
    if ! has cargo >/dev/null; then
        echo 'setup: cargo is missing; install Rust from https://rustup.rs (stable, with clippy and rustfmt)' >&2
        exit 1
    fi
    for component in clippy rustfmt; do
        case $component in clippy) subcommand=clippy ;; rustfmt) subcommand=fmt ;; esac
        cargo "$subcommand" --version >/dev/null 2>&1 </dev/null && continue
        if has rustup >/dev/null && rustup component add "$component" </dev/null; then continue; fi
        echo "setup: cargo $subcommand is missing; run 'rustup component add $component'" >&2
        exit 1
    done
}

check_rust
check
if [ -n "$missing_packages" ] && has apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    install_with_apt
    check
fi
if [ -n "$missing_packages" ]; then
    printf 'setup: missing:\n%s' "$missing_text" >&2
    printf 'setup: on Debian or Ubuntu: sudo apt-get install%s\n' "$missing_packages" >&2
    exit 1
fi

# The independent peers of the tunnel's tests, in an environment of their own.
peers=target/peers
if [ "$scope" != demo ] && ! "$peers/bin/python" -c 'import asyncssh, paramiko, websocket, websockets' >/dev/null 2>&1; then
    echo 'setup: installing asyncssh, paramiko, websocket-client and websockets in target/peers'
    python3 -m venv "$peers"
    "$peers/bin/pip" install --quiet --disable-pip-version-check \
        asyncssh==2.24.1 paramiko==5.1.0 websocket-client==1.9.2 websockets==17.4 </dev/null
fi

# Prometheus with promtool, unpacked beside the build: the package would start a service at the next boot.
prometheus=$PWD/target/prometheus
unpack_prometheus() {
    rm -rf "$prometheus.new"
    mkdir -p "$prometheus.new"
    (cd "$prometheus.new" && apt-get download -q prometheus </dev/null >/dev/null) || return 1
    dpkg -x "$prometheus.new"/prometheus_*.deb "$prometheus.new" || return 1
    rm -rf "$prometheus.new"/*.deb "$prometheus"
    mv "$prometheus.new" "$prometheus"
}
if [ "$scope" != demo ] && ! has promtool >/dev/null && ! [ -x "$prometheus/usr/bin/promtool" ]; then
    echo 'setup: unpacking prometheus in target/prometheus'
    unpack_prometheus 2>/dev/null || { [ "$(id -u)" = 0 ] && apt-get update -q </dev/null && unpack_prometheus; } || {
        echo 'setup: missing: promtool and prometheus (Debian package: prometheus)' >&2
        exit 1
    }
fi
