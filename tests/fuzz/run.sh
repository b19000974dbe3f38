#!/bin/sh
# Builds the fuzz targets and runs each from its corpus. Usage: tests/fuzz/run.sh [SECONDS] [TARGET...]
#
# libFuzzer needs the compiler's coverage instrumentation, which is no feature of nightly, and a C++ compiler. Without
# one, the seeded smoke runs among the unit tests are all there is.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-20}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- gate http ssh

if ! command -v c++ >/dev/null; then
    echo 'fuzz: no C++ compiler for libFuzzer: seeded smoke runs instead'
    exec cargo test --locked --lib -- smoke corpus
fi

host=$(rustc -vV | sed -n 's/^host: //p')
coverage='-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4'
for kind in inline-8bit-counters pc-table trace-compares; do
    coverage="$coverage -C llvm-args=-sanitizer-coverage-$kind"
done
# With a target, build scripts and macros are built without it.
RUSTFLAGS="--cfg fuzzing -C codegen-units=1 $coverage" cargo build --locked --profile fuzz --target "$host" \
    --target-dir target/fuzz --package postern-fuzz

# The vectors of the tests are the first inputs where there is no corpus of its own.
python3 - <<'SEEDS'
import json
from pathlib import Path

def seeds(target, inputs):
    directory = Path("target/fuzz/corpus", target)
    directory.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(inputs):
        (directory / f"vector-{number}").write_bytes(content)

def vectors(name):
    return json.loads(Path("tests/data", name).read_text())

sql = [vector["sql"] for name in ("gate.json", "split.json") for vector in vectors(name)]
# The first byte chooses the dialect.
seeds("gate", [bytes([number % 32]) + text.encode() for number, text in enumerate(sql)])
seeds("http", [case["send"].encode() for case in vectors("fence.json")])
seeds("ssh", [])
SEEDS

for target in "$@"; do
    corpus=target/fuzz/corpus/$target
    kept=tests/fuzz/corpus/$target
    echo "fuzz: $target for $seconds s"
    log=target/fuzz/$target.log
    # New inputs go to the first directory; the kept ones are only read.
    if ! "target/fuzz/$host/fuzz/fuzz-$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="target/fuzz/$target-" -print_final_stats=1 "$corpus" \
        $(test ! -d "$kept" || echo "$kept") >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "fuzz: $target failed; the input is in target/fuzz" >&2
        exit 1
    fi
    sed -n 's/^Done /fuzz: /p' "$log"
done
