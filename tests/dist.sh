#!/bin/bash
# Checks the released files in target/dist, which `make dist` has made: each package is installed and used, and each
# foreign executable does its main job under QEMU, this machine's in a small box. As root on Debian; `make nightly PARTS=dist`
# runs it.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/target/dist root=$PWD/target/dist-root
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
packages='debootstrap faketime qemu-user skopeo'

fail() {
    echo "dist: $*" >&2
    exit 1
}

# inside COMMAND: runs it in the Debian that was made for this.
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$root" sh -ec "$1"
}

need() {
    for package in $packages; do
        dpkg -s "$package" >/dev/null 2>&1 || apt-get install --yes --no-install-recommends "$package"
    done
}

sums() {
    (cd "$out" && sha256sum --quiet --check SHA256SUMS) || fail 'a sum is wrong'
}

tarball() {
    local dir
    dir=$(mktemp -d)
    tar --extract --gzip --file "$out/postern-$version-linux-$(uname -m).tar.gz" --directory "$dir"
    tests/static.sh "$dir/postern-$version-linux-$(uname -m)/postern"
    for file in README.md LICENSE THIRD-PARTY-LICENSES.txt completions/postern.bash man/postern.1; do
        [ -s "$dir/postern-$version-linux-$(uname -m)/$file" ] || fail "the archive has no $file"
    done
    rm -r "$dir"
}

debian() {
    [ -d "$root/usr" ] || debootstrap --variant=minbase stable "$root" >/dev/null
}

# Installed, used by its own user, upgraded, removed, purged.
deb() {
    local file="postern_${version}_$(dpkg --print-architecture).deb"
    debian
    cp "$out/$file" "$root/root/"
    inside "dpkg --purge postern 2>/dev/null || true; apt-get install --yes /root/$file >/dev/null"
    inside 'postern --version && dpkg --verify postern && getent passwd postern-relay >/dev/null'
    inside 'install -d -o postern-relay -m 700 /var/lib/postern-relay
        cd / && timeout 3 setpriv --reuid postern-relay --regid postern-relay --clear-groups \
            postern relay --data=/var/lib/postern-relay --listen 127.0.0.1:0 --tunnel-listen 127.0.0.1:0 >/tmp/said || true
        grep -q "^Relay: " /tmp/said && test -s /var/lib/postern-relay/host.ed25519'
    # Files that root changes stay the relay's own.
    inside 'postern relay invite --data=/var/lib/postern-relay >/dev/null 2>&1
        test -z "$(find /var/lib/postern-relay ! -user postern-relay)"'
    inside "echo POSTERN_RELAY_OPTIONS=--domain=mine.example >/etc/default/postern-relay; dpkg --install /root/$file >/dev/null
        grep -q mine.example /etc/default/postern-relay && test -s /var/lib/postern-relay/host.ed25519"
    inside 'dpkg --remove postern >/dev/null; ! command -v postern; test -s /etc/default/postern-relay
        test -s /var/lib/postern-relay/host.ed25519'
    inside 'dpkg --purge postern >/dev/null; ! test -e /etc/default/postern-relay; ! test -e /var/lib/postern-relay
        ! getent passwd postern-relay'
}

image() {
    local archive="oci-archive:$out/postern-$version-oci.tar"
    for architecture in amd64 arm64; do
        skopeo --override-os linux --override-arch "$architecture" inspect "$archive" | grep -q "\"Architecture\": \"$architecture\"" ||
            fail "the image has no $architecture"
        skopeo --override-arch "$architecture" copy --quiet "$archive" "dir:$(mktemp -d)" || fail 'a blob is not what it is called'
    done
}

# emulator NAME: the file of a QEMU that lies in that Debian. One below 8.2 overwrites the stacks of a 32-bit program.
emulator() {
    if [ ! -x "$root/usr/bin/qemu-$1" ]; then
        debian
        inside 'apt-get update >/dev/null; apt-get install --yes --no-install-recommends qemu-user >/dev/null'
    fi
    echo "$root/usr/bin/qemu-$1"
}

released() {
    echo "$PWD/target/$1/release/postern"
}

# The main job of each foreign executable: `start` and the other commands beside those of this machine, with the cipher that
# is fastest there, and the web client on a real MariaDB. Tests of shares of seconds, and of a
# thousand tunnels at once, are not for an emulator.
foreign() {
    local dir native
    dir=$(mktemp -d) native=$(released "$(uname -m)-unknown-linux-musl")
    cargo build --locked
    while read -r target name cipher; do
        local run
        run="$(emulator "$name") $(released "$target")"
        echo "dist: $target"
        tests/foreign.py "$native" "$run" --cipher "$cipher" ${POSTERN_CHISEL:+--chisel "$POSTERN_CHISEL"}
        printf '#!/bin/sh\nexec %s "$@"\n' "$run" >"$dir/postern"
        chmod +x "$dir/postern"
        POSTERN_BIN=$dir/postern cargo test --locked --test sql everyday:: -- --test-threads 2 </dev/null
        POSTERN_BIN=$dir/postern cargo test --locked --test relay one_word:: -- --skip time_is_over --test-threads 2 </dev/null
        POSTERN_BIN=$dir/postern cargo test --locked --test relay by_url:: -- --skip half_open --skip no_place_of_visitors --test-threads 1 </dev/null
        POSTERN_BIN=$dir/postern cargo test --locked --test manager share_command::a_running_start -- --test-threads 2 </dev/null
    done <<'END'
aarch64-unknown-linux-musl aarch64 aes128-gcm@openssh.com
armv7-unknown-linux-musleabihf arm chacha20-poly1305@openssh.com
riscv64gc-unknown-linux-musl riscv64 chacha20-poly1305@openssh.com
END
    rm -r "$dir"
}

# The executable of a 32-bit machine: bodies of more than 4 GiB, and a clock beyond the year 2038. A static QEMU is not reached
# by libfaketime.
wide() {
    local native file
    native=$(released "$(uname -m)-unknown-linux-musl") file=$(released armv7-unknown-linux-musleabihf)
    tests/foreign.py "$native" "$(emulator arm) $file" --only both --mib 4200
    if ldd "$(command -v qemu-arm)" >/dev/null 2>&1; then
        tests/foreign.py "$native" "env NO_FAKE_STAT=1 faketime --exclude-monotonic -f +14y qemu-arm $file" --only start --from 2040
    else
        echo 'dist: the clock beyond 2038 is not tested: qemu-arm is static'
    fi
}

# The main job of this machine's executable in a small box: 32 MiB of memory for each process without swap, one core, and
# a read-only root with nothing but the file and /tmp: no /proc, /sys, /dev and /etc.
small() {
    local dir groups limit
    dir=$(mktemp -d)
    cargo build --locked
    if [ -d /sys/fs/cgroup/memory ]; then
        groups=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
    else
        groups=/sys/fs/cgroup limit=memory.max
        echo +memory >$groups/cgroup.subtree_control || fail 'cgroups have no memory limit here'
    fi
    mkdir -p "$dir/root/tmp"
    cp "target/$(uname -m)-unknown-linux-musl/release/postern" "$dir/root/postern"
    cat >"$dir/postern" <<END
#!/bin/sh
group=$groups/postern-small-\$\$
mkdir "\$group" && echo 32M >"\$group/$limit" && echo \$\$ >"\$group/cgroup.procs" || exit 99
[ ! -e "\$group/memory.swap.max" ] || echo 0 >"\$group/memory.swap.max"
exec unshare --mount sh -c 'mount --bind "$dir/root" "$dir/root" && mount --bind /tmp "$dir/root/tmp" &&
    mount -o remount,bind,ro "$dir/root" &&
    exec taskset --cpu-list 0 /usr/sbin/chroot "$dir/root" /postern "\$@"' small "\$@"
END
    chmod +x "$dir/postern"
    export POSTERN_BIN=$dir/postern TMPDIR=/tmp
    cargo test --locked --test manager -- --test-threads 2 small_box::many share_command::a_
    cargo test --locked --test relay -- --test-threads 2 one_word::a_ one_word::the_ by_url::a_ by_url::without
    cargo test --locked --test sql -- --test-threads 2 everyday:: dump::limits::
    unset POSTERN_BIN TMPDIR
    rmdir "$groups"/postern-small-*
    rm -r "$dir"
}

need
[ $# != 0 ] || set -- sums tarball deb image foreign wide small
for step in "$@"; do
    "$step"
    echo "dist: $step passed"
done
