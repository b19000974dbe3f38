#!/usr/bin/env python3
"""Packs the released files: .tar.gz and .deb for each target, an OCI image, licences, SBOM and SHA-256 sums.

Usage: build/dist.py DIRECTORY TARGET...    packs target/TARGET/release/postern of each into DIRECTORY

The time in every file is that of the last commit (or SOURCE_DATE_EPOCH), owners are root and names are sorted, so the same
source gives the same bytes. Needs cargo, git and an executable of this machine's architecture, which writes completions
and man pages. Python's standard library only.
"""

import datetime
import gzip
import hashlib
import io
import json
import lzma
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "build/packaging"

# Rust's target: the name in file names, Debian's architecture, and OCI's where an image is made.
TARGETS = {
    "x86_64-unknown-linux-musl": ("x86_64", "amd64", "amd64"),
    "aarch64-unknown-linux-musl": ("aarch64", "arm64", "arm64"),
    "armv7-unknown-linux-musleabihf": ("armv7", "armhf", None),
    "riscv64gc-unknown-linux-musl": ("riscv64", "riscv64", None),
}
# In an image: a user that no system has, and its directory.
IMAGE_USER, IMAGE_DATA = 65532, "data"
# Names of the files of a crate that hold its licence.
LICENCE = re.compile(r"(?i)^(licen[cs]e|copying|notice|copyright)")


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


class Release:
    """The source that is packed."""

    def __init__(self, targets):
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))
        metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1"))
        self.packages = {package["id"]: package for package in metadata["packages"]}
        self.nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        self.root = metadata["resolve"]["root"]
        self.version = self.packages[self.root]["version"]
        self.checksums = checksums((ROOT / "Cargo.lock").read_text())
        self.linked = linked(targets)

    def name(self, package):
        return f"{self.packages[package]['name']} {self.packages[package]['version']}"


def linked(targets):
    """Names and versions of the crates that are linked into the executables."""
    crates = set()
    for target in targets:
        tree = run("cargo", "tree", "--locked", "--edges", "normal,no-proc-macro", "--target", target, "--prefix", "none", "--format", "{p}")
        lines = [line.split() for line in tree.decode().splitlines()]
        crates |= {(line[0], line[1].removeprefix("v")) for line in lines if line and "(proc-macro)" not in line}
    return crates


def checksums(lock):
    found = re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([^"]+)"', lock)
    return {(name, version): checksum for name, version, checksum in found}


# Archives: the same content is the same bytes.


class Files:
    """A list of (path, mode, content); a path that ends with a slash is a directory."""

    def __init__(self):
        self.entries = []

    def add(self, path, content, mode=0o644, owner=0):
        self.entries.append((path, mode, content if isinstance(content, bytes) else content.encode(), owner))

    def tar(self, epoch, prefix=""):
        whole = {path: (mode, content, owner) for path, mode, content, owner in self.entries}
        for path in list(whole):
            for parent in Path(path.rstrip("/")).parents:
                if str(parent) != ".":
                    whole.setdefault(f"{parent}/", (0o755, b"", 0))
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, (mode, content, owner) in sorted(whole.items()):
                entry = tarfile.TarInfo(prefix + path.rstrip("/"))
                entry.type = tarfile.DIRTYPE if path.endswith("/") else tarfile.REGTYPE
                entry.mode, entry.size, entry.mtime = mode, len(content), epoch
                entry.uid = entry.gid = owner
                entry.uname = entry.gname = "root" if owner == 0 else ""
                archive.addfile(entry, io.BytesIO(content))
        return out.getvalue()


def gz(data):
    return gzip.compress(data, compresslevel=9, mtime=0)


def xz(data):
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


def ar(members, epoch):
    """An archive as deb(5) has it."""
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        out += data + b"\n" * (len(data) % 2)
    return out


# Content of the packages.


def documents(release):
    """The files beside the executable."""
    files = Files()
    native = ROOT / f"target/{native_target()}/release/postern"
    for shell, path in [("bash", "postern.bash"), ("zsh", "_postern"), ("fish", "postern.fish")]:
        files.add(f"completions/{path}", run(native, "completions", shell))
    with tempfile.TemporaryDirectory() as pages:
        run(native, "man", pages)
        for page in sorted(Path(pages).iterdir()):
            files.add(f"man/{page.name}", page.read_bytes())
    for name in ["README.md", "LICENSE", "CHANGELOG.md"]:
        files.add(name, (ROOT / name).read_bytes())
    files.add("THIRD-PARTY-LICENSES.txt", licences(release))
    for example in ["nginx.conf", "Caddyfile", "Caddyfile.localhost", "haproxy.cfg", "haproxy-fleet.cfg"]:
        files.add(f"examples/{example}", (ROOT / "tests/deploy" / example).read_bytes())
    files.add("postern.cdx.json", sbom(release))
    return files


def native_target():
    machine = platform.machine()
    return next(target for target, names in TARGETS.items() if machine in (names[0], names[1]))


def licences(release):
    """The licence of each crate, then each text once."""
    crates, texts = [], {}
    for package in sorted(release.packages.values(), key=lambda p: (p["name"], p["version"])):
        if (package["name"], package["version"]) not in release.linked or package["source"] is None:
            continue
        called = f"{package['name']} {package['version']}"
        crates.append(f"{called}: {licence_of(package)}")
        directory = Path(package["manifest_path"]).parent
        for path in sorted(directory.iterdir()):
            if path.is_file() and LICENCE.match(path.name):
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(called)
    for name, version, licence, text in runtime():
        crates.append(f"{name} {version}: {licence}")
        texts.setdefault(text.strip(), []).append(name)
    head = "postern is linked with these libraries, each under its own licence.\n\n" + "\n".join(crates)
    parts = [f"{'=' * 80}\n{', '.join(users)}\n{'=' * 80}\n\n{text}\n" for text, users in texts.items()]
    return head + "\n\n" + "\n".join(parts)


def licence_of(package):
    """Its expression (SPDX). A package of this source has this one's; tests/deny.toml names those that name none."""
    clarified = tomllib.loads((ROOT / "tests/deny.toml").read_text())["licenses"]["clarify"]
    named = {entry["crate"]: entry["expression"] for entry in clarified}
    own = None if package["source"] else "MIT"
    expression = package["license"] or own or named.get(f"{package['name']}@{package['version']}")
    if not expression:
        sys.exit(f"dist: {package['name']} names no licence")
    return expression.replace("/", " OR ")


def runtime():
    """The libraries below the crates, which the static build takes from its compilers: (name, version, licence, text)."""
    venv = ROOT / "target/static-venv"
    zig = next(venv.glob("lib/python3*/site-packages/ziglang/lib"), None)
    rust = Path(run("rustc", "--print", "sysroot").decode().strip()) / "share/doc"
    compiler = run("/usr/bin/rustc", "--version").decode().split()[1]
    bundled = "of Zig " + run(venv / "bin/python-zig", "version").decode().strip()
    found = []
    for name, version, licence, path in [
        ("Rust standard library", compiler, "MIT OR Apache-2.0", next(rust.glob("**/LICENSE-MIT"), None)),
        ("musl", bundled, "MIT", zig and zig / "libc/musl/COPYRIGHT"),
        ("LLVM libunwind", bundled, "Apache-2.0 WITH LLVM-exception", zig and zig / "libunwind/LICENSE.TXT"),
    ]:
        if path is None or not path.is_file():
            sys.exit(f"dist: no licence text of {name}")
        found.append((name, version, licence, path.read_text(errors="replace")))
    return found


def sbom(release):
    """CycloneDX 1.5: https://cyclonedx.org/docs/1.5/json/"""
    def component(package):
        name, version = package["name"], package["version"]
        purl = f"pkg:cargo/{name}@{version}"
        made = {"type": "library", "bom-ref": purl, "name": name, "version": version}
        if package["source"]:
            made["purl"] = purl
        made["licenses"] = [{"expression": licence_of(package)}]
        if checksum := release.checksums.get((name, version)):
            made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return made

    used = [package for package in release.packages.values() if (package["name"], package["version"]) in release.linked]
    used.sort(key=lambda package: (package["name"], package["version"]))
    refs = {package["id"]: f"pkg:cargo/{package['name']}@{package['version']}" for package in used}
    edges = [
        {"ref": refs[package["id"]], "dependsOn": sorted(refs[to] for to in release.nodes[package["id"]]["dependencies"] if to in refs)}
        for package in used
    ]
    below = [
        {"type": "library", "bom-ref": name, "name": name, "version": version, "licenses": [{"expression": licence}]}
        for name, version, licence, _ in runtime()
    ]
    root = component(release.packages[release.root])
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": utc(release.epoch), "component": {**root, "type": "application"}},
        "components": [component(package) for package in used if package["id"] != release.root] + below,
        "dependencies": edges,
    }
    digest = hashlib.sha256(json.dumps(bom, sort_keys=True).encode()).hexdigest()
    bom["serialNumber"] = f"urn:uuid:{uuid.UUID(digest[:32], version=4)}"
    return json.dumps(bom, indent=1) + "\n"


def utc(epoch):
    return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def tarball(release, executable, beside):
    files = Files()
    files.add("postern", executable, 0o755)
    files.entries += beside.entries
    return files


def deb(release, architecture, executable, beside):
    """A package whose relay service is there, and runs when it is configured."""
    files = Files()
    files.add("usr/bin/postern", executable, 0o755)
    places = {"completions/postern.bash": "usr/share/bash-completion/completions/postern",
              "completions/_postern": "usr/share/zsh/vendor-completions/_postern",
              "completions/postern.fish": "usr/share/fish/vendor_completions.d/postern.fish"}
    for path, mode, content, _ in beside.entries:
        if path.startswith("man/"):
            files.add(f"usr/share/{path.replace('man/', 'man/man1/')}.gz", gz(content), mode)
        elif path == "CHANGELOG.md":
            files.add("usr/share/doc/postern/changelog.gz", gz(content), mode)
        elif path == "LICENSE":
            pass
        else:
            files.add(places.get(path, f"usr/share/doc/postern/{path}"), content, mode)
    licence = (ROOT / "LICENSE").read_text()
    files.add("usr/share/doc/postern/copyright", f"{licence}\nThe licences of the linked libraries are in THIRD-PARTY-LICENSES.txt.\n")
    files.add("usr/lib/systemd/system/postern-relay.service", unit())
    files.add("etc/default/postern-relay", (PACKAGING / "postern-relay.default").read_bytes(), 0o600)
    size = sum(len(content) for _, _, content, _ in files.entries) // 1024 + 1
    control = Files()
    control.add("control", (PACKAGING / "control").read_text().format(
        version=release.version, architecture=architecture, size=size))
    control.add("conffiles", "/etc/default/postern-relay\n")
    control.add("md5sums", "".join(
        f"{hashlib.md5(content).hexdigest()}  {path}\n" for path, _, content, _ in sorted(files.entries) if not path.startswith("etc/")))
    for script in ["postinst", "prerm", "postrm"]:
        control.add(script, (PACKAGING / script).read_bytes(), 0o755)
    return ar([("debian-binary", b"2.0\n"),
               ("control.tar.xz", xz(control.tar(release.epoch, "./"))),
               ("data.tar.xz", xz(files.tar(release.epoch, "./")))], release.epoch)


def unit():
    """Returns what the program itself prints, with a user and options of its own."""
    native = ROOT / f"target/{native_target()}/release/postern"
    printed = run(native, "relay", "--print-systemd-unit", "--domain", "relay.example").decode()
    lines = [line for line in printed.splitlines() if not line.startswith("#")]
    of_package = {
        "ExecStart": "EnvironmentFile=/etc/default/postern-relay\n"
        "ExecStart=/usr/bin/postern relay --data=/var/lib/postern-relay $POSTERN_RELAY_OPTIONS",
        "DynamicUser": "User=postern-relay\nGroup=postern-relay",
        # Room for the --drain that the options may have.
        "TimeoutStopSec": "TimeoutStopSec=10min",
        # Wrong options stay wrong.
        "RestartSec": "RestartSec=2\nRestartPreventExitStatus=2",
    }
    return "".join(f"{of_package.get(line.split('=')[0], line)}\n" for line in lines)


def image(release, executables, beside):
    """An image of the file and its licences (https://github.com/opencontainers/image-spec) for each architecture, as one archive."""
    out = Files()

    def blob(data, kind, **more):
        digest = hashlib.sha256(data).hexdigest()
        if not any(path == f"blobs/sha256/{digest}" for path, *_ in out.entries):
            out.add(f"blobs/sha256/{digest}", data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data), **more}

    labels = {
        "org.opencontainers.image.title": "postern",
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.licenses": "MIT",
        "org.opencontainers.image.created": utc(release.epoch),
    }
    manifests = []
    for architecture, executable in executables:
        files = Files()
        files.add("postern", executable, 0o755)
        files.add(f"{IMAGE_DATA}/", b"", 0o700, IMAGE_USER)
        files.entries += [entry for entry in beside.entries if "LICENSE" in entry[0]]
        layer = files.tar(release.epoch)
        config = {
            "created": utc(release.epoch),
            "architecture": architecture,
            "os": "linux",
            "config": {
                "User": f"{IMAGE_USER}:{IMAGE_USER}",
                "Env": ["PATH=/", f"POSTERN_HOME=/{IMAGE_DATA}"],
                "Entrypoint": ["/postern"],
                "Cmd": ["--help"],
                "Volumes": {f"/{IMAGE_DATA}": {}},
                "WorkingDir": f"/{IMAGE_DATA}",
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
            "history": [{"created": utc(release.epoch), "created_by": "build/dist.py"}],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": blob(compact(config), "config.v1+json"),
            "layers": [blob(gz(layer), "layer.v1.tar+gzip")],
            "annotations": labels,
        }
        of = {"architecture": architecture, "os": "linux"}
        manifests.append(blob(compact(manifest), "manifest.v1+json", platform=of))
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    # The first names it for podman and skopeo, the second for docker and containerd.
    names = {
        "org.opencontainers.image.ref.name": f"postern:{release.version}",
        "io.containerd.image.name": f"localhost/postern:{release.version}",
    }
    named = blob(compact(index), "index.v1+json", annotations=names)
    out.add("index.json", compact({"schemaVersion": 2, "manifests": [named]}))
    out.add("oci-layout", compact({"imageLayoutVersion": "1.0.0"}))
    return out.tar(release.epoch)


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main():
    if len(sys.argv) < 3 or any(target not in TARGETS for target in sys.argv[2:]):
        sys.exit(f"usage: build/dist.py DIRECTORY TARGET...   (targets: {', '.join(TARGETS)})")
    out, targets = Path(sys.argv[1]), sys.argv[2:]
    release = Release(targets)
    beside = documents(release)
    made, of_image = {}, []
    for target in targets:
        name, debian, container = TARGETS[target]
        executable = (ROOT / f"target/{target}/release/postern").read_bytes()
        directory = f"postern-{release.version}-linux-{name}"
        made[f"{directory}.tar.gz"] = gz(tarball(release, executable, beside).tar(release.epoch, f"{directory}/"))
        made[f"postern_{release.version}_{debian}.deb"] = deb(release, debian, executable, beside)
        if container:
            of_image.append((container, executable))
    made[f"postern-{release.version}-oci.tar"] = image(release, of_image, beside)
    made[f"postern-{release.version}.cdx.json"] = sbom(release).encode()
    out.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        (out / name).write_bytes(data)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(made.items()))
    (out / "SHA256SUMS").write_text(sums)
    print(sums, end="")
    print(f"To sign: gpg --armor --detach-sign {out}/SHA256SUMS")
    print(f"To check: gpg --verify SHA256SUMS.asc && sha256sum --check SHA256SUMS, in {out}")


if __name__ == "__main__":
    main()
