#!/bin/sh
# Tries tests/deploy/nginx.conf: nginx with a certificate of its own in front of a relay, a manager that enrols through it,
# a site behind that. Needs nginx, openssl, curl and python3; NGINX names another nginx. Not a part of `make test`.
# The domain is localhost here, which needs no name server; curl takes no wildcard directly below a top domain.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PATH="$PATH:/usr/sbin:/usr/local/sbin"
postern=${POSTERN_BIN:-$root/target/debug/postern}
site=${POSTERN_DEMO_SITE:-$root/target/debug/examples/demo-site}
nginx=${NGINX:-nginx}

fail() {
    printf 'nginx: %s\n' "$*" >&2
    exit 1
}
for tool in "$nginx" openssl curl python3 "$postern" "$site"; do
    command -v "$tool" >/dev/null || fail "$tool is missing"
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/postern-nginx.XXXXXX")
pids=''
clean_up() {
    trap '' INT TERM HUP
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# wait_for FILE TEXT: until a program has written it. Not for $(…): only this shell notices the program's end.
wait_for() {
    last=${pids##* }
    until grep -q "$2" "$1" 2>/dev/null; do
        kill -0 "$last" 2>/dev/null || { cat "$1" >&2; fail "no '$2'"; }
        sleep 0.1
    done
}
after() { sed -n "s|^$2||p" "$1" | head -n 1; }

export POSTERN_HOME="$dir/home"
unset POSTERN_SERVER POSTERN_ENROLL_TOKEN
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$site" >"$dir/site.log" 2>&1 &
pids="$pids $!"
wait_for "$dir/site.log" .
site_port=$(cat "$dir/site.log")
"$postern" relay -v --listen=127.0.0.1:0 --tunnel-listen=127.0.0.1:0 \
    --public-url="https://localhost:$port" --trust-proxy=127.0.0.1 >"$dir/relay.log" 2>&1 &
pids="$pids $!"
wait_for "$dir/relay.log" '^Status page: '
relay=$(after "$dir/relay.log" 'Listening on: ')
token=$(after "$dir/relay.log" 'Enrolment token: ')
token=${token%% *}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
    -addext basicConstraints=critical,CA:FALSE -addext 'subjectAltName=DNS:localhost,DNS:small.localhost,DNS:no.localhost' -keyout "$dir/key" -out "$dir/pem" 2>/dev/null
{
    # As root it would give up its rights and could not read the directory.
    [ "$(id -u)" != 0 ] || echo 'user root;'
    echo "daemon off; pid $dir/pid; error_log $dir/error.log; events {} http { access_log off;"
    for temporary in client_body proxy fastcgi uwsgi scgi; do echo "${temporary}_temp_path $dir/$temporary;"; done
    sed -e "s|listen 443|listen 127.0.0.1:$port|" -e "s|/etc/ssl/relay.example.pem|$dir/pem|" \
        -e "s|/etc/ssl/relay.example.key|$dir/key|" -e "s|127.0.0.1:8180|$relay|" \
        -e 's|relay\.example|localhost|g' "$here/nginx.conf"
    echo '}'
} >"$dir/nginx.conf"
"$nginx" -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" >"$dir/nginx.log" 2>&1 &
pids="$pids $!"

visit() {
    name=$1
    shift
    curl --silent --show-error --max-time 10 --cacert "$dir/pem" --resolve "$name:$port:127.0.0.1" "$@"
}
own="https://localhost:$port"
until visit localhost "$own/health" >/dev/null 2>&1; do
    kill -0 "${pids##* }" 2>/dev/null || { cat "$dir/nginx.log" "$dir/error.log" >&2; fail 'nginx does not start'; }
    sleep 0.1
done

count=0
# expect WHAT TEXT PART: fails unless the text holds the part.
expect() {
    case $2 in
    *"$3"*) count=$((count + 1)) ;;
    *) cat "$dir/relay.log" >&2; fail "$1: no '$3' in: $2" ;;
    esac
}

password=a-password-of-forty-three-characters-012345
stranger=$(visit localhost --header 'Content-Type: application/json' "$own/api/public/quick-setup" --data "{\"protocol\":\"http\",
    \"ip\":\"127.0.0.1\",\"port\":$site_port,\"connector_name\":\"stranger\",\"password\":\"$password\",\"client_app_id\":\"a\",
    \"display_name\":\"\",\"site_name\":\"\",\"invisible\":false,\"visable\":\"\",\"reset\":true}")
expect 'a stranger is not enrolled, though the proxy is on this machine' "$stranger" '"code":403'

SSL_CERT_FILE="$dir/pem" POSTERN_ENROLL_TOKEN="$token" \
    "$postern" start 0 --no-open --server "$own" >"$dir/start.log" 2>&1 &
pids="$pids $!"
wait_for "$dir/start.log" '^Management page: '
app=$("$postern" app add http "127.0.0.1:$site_port" --name small)
expect 'the address that visitors use' "$("$postern" app connect "$app")" "https://small.localhost:$port/"

small="https://small.localhost:$port"
page=$(visit small.localhost "$small/" --header 'X-Forwarded-For: 192.0.2.9' --header 'Forwarded: for=192.0.2.9' \
    --header 'X-Forwarded-Host: evil.example' --header 'X-Forwarded-Port: 1337')
expect 'the site through TLS' "$page" '<h1>A small web site'
expect 'the scheme' "$page" 'X-Forwarded-Proto: https'
expect 'the visitor' "$page" 'X-Forwarded-For: 127.0.0.1'
expect 'the host' "$page" "X-Forwarded-Host: small.localhost:$port"
case $page in *evil.example* | *1337*) fail "a visitor's own host is believed: $page" ;; esac
case $page in *192.0.2.9*) fail "a visitor's own claim is believed: $page" ;; esac
expect 'an unknown name' "$(visit no.localhost "https://no.localhost:$port/")" 'Unknown site'
# Three seconds of a stream that never ends: without buffering, strokes have come.
expect 'https from then on' "$(visit small.localhost --head "$small/")" 'Strict-Transport-Security: max-age=31536000'
clock=$(visit small.localhost --no-buffer --max-time 3 "$small/clock" 2>/dev/null || true)
expect 'a stream' "$clock" 'data: '
# The site takes no WebSocket; that it is asked for one is what counts here.
upgrade=$(visit small.localhost --http1.1 "$small/" --header 'Connection: Upgrade' --header 'Upgrade: websocket')
expect "a WebSocket's request" "$upgrade" 'Upgrade: websocket'
expect "a WebSocket's connection" "$upgrade" 'Connection: Upgrade'
# The port of visitors is enough for a tunnel; a page cannot open one.
upgrade() {
    visit localhost --http1.1 --max-time 2 --include "$own/.postern/tunnel" --header 'Connection: Upgrade' \
        --header 'Upgrade: websocket' --header 'Sec-WebSocket-Version: 13' --header 'Sec-WebSocket-Protocol: chisel-v3' \
        --header 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "$@" 2>/dev/null || true
}
expect 'a tunnel' "$(upgrade --output - --no-buffer | head -n 1)" '101 Switching Protocols'
expect "a page's tunnel" "$(upgrade --header 'Origin: https://evil.example')" '403'
expect 'no tunnel' "$(visit localhost "$own/.postern/tunnel")" 'this address takes tunnels'
case $(cat "$dir/relay.log" "$dir/start.log") in *"$password"*) fail 'the password is in a log' ;; esac
echo "nginx: $count checks passed"
