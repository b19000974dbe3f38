#!/bin/sh
# Everything that must hold before a change is accepted. Ends with the number of tests passed and failed.
set -eu
cd "$(dirname "$0")/.."

tests/setup.sh
cargo fmt --all --check
cargo clippy --locked --all-targets -- -D warnings
cargo build --locked

mkdir -p target
log=target/test.log
# The status of the left side of the pipe goes through a file: sh has no pipefail.
{ cargo test --locked --no-fail-fast 2>&1 && echo 0 >"$log.status" || echo $? >"$log.status"; } | tee "$log"
status=$(cat "$log.status")
awk '/^test result: / {
	for (i = 2; i < NF; i++) {
		if ($(i + 1) == "passed;") passed += $i
		if ($(i + 1) == "failed;") failed += $i
	}
} END { printf "%d passed, %d failed\n", passed, failed }' "$log"
exit "$status"
