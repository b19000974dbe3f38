#!/usr/bin/env python3
"""Holds the dependencies to tests/deny.toml: licences, sources, and crates that come twice; and tests/crates.md to them.

The rules are cargo-deny's, as far as the file has them. This needs Python 3.11 alone, so that it always runs.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def packages(targets):
    """Every package that a build, a test or a bench for one of the targets compiles, by its id."""
    found = {}
    for target in targets:
        command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
        metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
        used = {node["id"] for node in metadata["resolve"]["nodes"]}
        found |= {package["id"]: package for package in metadata["packages"] if package["id"] in used}
    return list(found.values())


def named(package):
    return f"{package['name']}@{package['version']}"


def fits(expression, allowed, used):
    """True if a licence expression (SPDX) can be met by what is allowed."""
    tokens = re.findall(r"[()/]|[^\s()/]+", expression)

    def choice():
        met = part()
        while tokens and tokens[0] in ("OR", "/"):
            tokens.pop(0)
            met = part() or met
        return met

    def part():
        met = licence()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = licence() and met
        return met

    def licence():
        name = tokens.pop(0)
        if name == "(":
            met = choice()
            tokens.pop(0)
            return met
        if tokens and tokens[0] == "WITH":
            name += f" {tokens.pop(0)} {tokens.pop(0)}"
        if name in allowed:
            used.add(name)
        return name in allowed

    return choice() and not tokens


def licences(rules, all_packages):
    allowed, used = set(rules["allow"]), set()
    clarified = {rule["crate"]: rule["expression"] for rule in rules.get("clarify", [])}
    for package in all_packages:
        if package["source"] is None and rules.get("private", {}).get("ignore") and package["publish"] == []:
            continue
        expression = package["license"] or clarified.pop(named(package), "")
        if not expression:
            yield f"{named(package)}: its manifest names no licence"
        elif not fits(expression, allowed, used):
            yield f"{named(package)}: {expression} is not allowed"
    yield from (f"licenses.allow: nothing needs {name}" for name in sorted(allowed - used))
    yield from (f"licenses.clarify: nothing needs {name}" for name in clarified)


def is_default_registry(source):
    """Cargo's own, which cargo-deny allows where a file names none."""
    return source.startswith("registry+") and source.endswith("/crates.io-index")


def sources(rules, all_packages):
    for package in all_packages:
        source = package["source"]
        if source is None or is_default_registry(source):
            continue
        if source.startswith("git+") and source.removeprefix("git+").split("?")[0].split("#")[0] in rules["allow-git"]:
            continue
        yield f"{named(package)}: comes from {source}"


def duplicates(rules, all_packages):
    skipped, used = {rule["crate"] for rule in rules["skip"]}, set()
    versions = defaultdict(list)
    for package in all_packages:
        versions[package["name"]].append(package)
    for name, twice in sorted(versions.items()):
        skips = {named(package) for package in twice} & skipped
        if len(twice) - len(skips) > 1:
            yield f"{name}: {', '.join(sorted(p['version'] for p in twice))}; say why in bans.skip, or bring them together"
        if len(twice) > 1:
            used |= skips
    yield from (f"bans.skip: nothing needs {name}" for name in sorted(skipped - used))


def listed(all_packages):
    """tests/crates.md names each direct dependency of the workspace, at the locked version."""
    own = [package for package in all_packages if package["source"] is None]
    names = {dependency["name"] for package in own for dependency in package["dependencies"] if dependency["source"]}
    versions = {(package["name"], package["version"]) for package in all_packages if package["source"]}
    table = dict(re.findall(r"(?m)^\| ([\w-]+) \| ([\d.]+) ", (ROOT / "tests/crates.md").read_text()))
    yield from (f"tests/crates.md: {name} is missing" for name in sorted(names - table.keys()))
    yield from (f"tests/crates.md: {' '.join(row)} is not in Cargo.lock" for row in sorted(table.items() - versions))
    yield from (f"tests/crates.md: nothing needs {name}" for name in sorted(table.keys() - names))


def main():
    rules = tomllib.loads((ROOT / "tests/deny.toml").read_text())
    found = packages(rules["graph"]["targets"])
    faults = [
        *licences(rules["licenses"], found),
        *sources(rules["sources"], found),
        *duplicates(rules["bans"], found),
        *listed(found),
    ]
    for fault in faults:
        print(f"deny: {fault}", file=sys.stderr)
    print(f"deny: {len(found)} packages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
