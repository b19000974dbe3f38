# The everyday commands. `make` builds, `make static` builds the one file that is released.

CARGO ?= cargo
BINARY := target/release/postern

# The static executable is linked with musl, for the machine's own architecture.
STATIC_TARGET := $(shell uname -m)-unknown-linux-musl
STATIC_BINARY = target/$(STATIC_TARGET)/release/postern
STATIC_RUSTFLAGS = CARGO_TARGET_$$(echo $(STATIC_TARGET) | tr a-z- A-Z_)_RUSTFLAGS
# No path of this machine is in the executable, so that the same source gives the same bytes everywhere.
SAME_BYTES = --remap-path-prefix=$(CURDIR)/= --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}/registry/src/=
# Without the target: a virtual environment with Zig (musl, a C compiler and an unwinder) ...
STATIC_VENV := target/static-venv
STATIC_TOOLS := ziglang==0.15.2 cargo-zigbuild==0.23.0
# ... and Debian's compiler with the source of its standard library.
DEBIAN_PACKAGES := rustc-web cargo-web rust-web-src
DEBIAN_ENV = PATH="$(CURDIR)/$(STATIC_VENV)/bin:/usr/bin:$$PATH" RUSTC=/usr/bin/rustc CARGO=/usr/bin/cargo RUSTC_BOOTSTRAP=1
DEBIAN_STD := /usr/lib/rustlib/src/rust/library/std
# No backtraces: an executable without symbols has no names to print in them. Panics are caught and told as ever.
DEBIAN_STD_FEATURES := panic-unwind,optimize_for_size
# Rust counts the seconds of a clock in 32 bits on a 32-bit machine, until 2038. Here it does as musl does, in 64; one system
# call has to be told (build/futex.c).
WIDE_TIME := target/futex.o
WIDE_TIME_TARGETS := armv7-unknown-linux-musleabihf
if_wide_time = $(if $(filter $(WIDE_TIME_TARGETS),$(STATIC_TARGET)),$(1))

.PHONY: all static static-rustup static-debian dist debian-std apple test nightly soak fleet fuzz bench bench-scale bench-pairs demo lint bless fmt clean

all:
	$(CARGO) build --release --locked

# The target counts as installed where the compiler has its libraries.
static:
	@if [ -d "$$(rustc --print sysroot)/lib/rustlib/$(STATIC_TARGET)/lib" ]; then \
		$(MAKE) static-rustup; \
	else \
		echo "static: no $(STATIC_TARGET) here ('rustup target add $(STATIC_TARGET)' adds it)"; \
		echo "static: compiling the standard library from Debian's source with Zig's musl instead"; \
		$(MAKE) static-debian; \
	fi
	tests/static.sh $(STATIC_BINARY)

static-rustup:
	@command -v musl-gcc >/dev/null || echo "static: musl-gcc is missing; if C code fails to compile, install musl-tools"
	env $(STATIC_RUSTFLAGS)="$(SAME_BYTES)" $(CARGO) build --release --locked --target $(STATIC_TARGET)

static-debian: debian-std $(call if_wide_time,$(WIDE_TIME))
	env $(DEBIAN_ENV) $(call if_wide_time,RUST_LIBC_UNSTABLE_MUSL_V1_2_3=1) \
		$(STATIC_RUSTFLAGS)="-C link-self-contained=no -C target-feature=+crt-static $(SAME_BYTES) \
		$(call if_wide_time,-C link-arg=$(WIDE_TIME))" \
		cargo-zigbuild zigbuild --release --locked --target $(STATIC_TARGET) -Zbuild-std=std,panic_unwind \
		-Zbuild-std-features=$(DEBIAN_STD_FEATURES)

# All released files, in target/dist: a static executable for each architecture, and what build/dist.py packs with it. The
# executable of this machine's architecture writes man pages and completions.
DIST_TARGETS ?= x86_64-unknown-linux-musl aarch64-unknown-linux-musl armv7-unknown-linux-musleabihf \
	riscv64gc-unknown-linux-musl
dist:
	for target in $(DIST_TARGETS); do \
		$(MAKE) --no-print-directory static-debian STATIC_TARGET=$$target || exit 1; \
	done
	rm -rf target/dist
	build/dist.py target/dist $(DIST_TARGETS)

debian-std: $(STATIC_VENV)/installed
	@if [ ! -d $(DEBIAN_STD) ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "static: installing $(DEBIAN_PACKAGES)"; \
			apt-get install --yes --no-install-recommends $(DEBIAN_PACKAGES); \
		else \
			echo "static: as root, run 'apt-get install $(DEBIAN_PACKAGES)', then make again" >&2; \
			exit 1; \
		fi; \
	fi

# Builds and links it for macOS, without optimisation, by the same compiler with Zig's headers and its list of what the
# system's library has. Nothing here can run the result, or strip it.
APPLE_TARGETS ?= aarch64-apple-darwin x86_64-apple-darwin
apple: debian-std
	for target in $(APPLE_TARGETS); do \
		env $(DEBIAN_ENV) CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_STRIP=none \
			cargo-zigbuild zigbuild --locked --bin postern --target $$target -Zbuild-std=std,panic_unwind && \
		ls -l target/$$target/debug/postern || exit 1; \
	done

$(WIDE_TIME): build/futex.c $(STATIC_VENV)/installed
	$(STATIC_VENV)/bin/python -m ziglang cc -target arm-linux-musleabihf -mcpu=generic+v7a -O2 -g0 -c $< -o $@

$(STATIC_VENV)/installed: Makefile
	python3 -m venv $(STATIC_VENV)
	$(STATIC_VENV)/bin/pip install --quiet --disable-pip-version-check $(STATIC_TOOLS)
	touch $@

# Installs what is missing, checks the style, builds, runs every test. The last line counts them.
test:
	@tests/run.sh

# The long forms: further servers in full, the whole Chromium, new fuzz inputs, soak, fleet; see tests/nightly.sh.
PARTS ?=
nightly:
	@tests/nightly.sh $(PARTS)

# A relay, managers, visitors and a database while networks fail and processes are killed: `make soak MINUTES=10`, and
# `SEED=N` for the faults of a run that failed. `make test` has one minute of it.
MINUTES ?= 2
SEED ?=
soak:
	@tests/setup.sh
	@$(CARGO) build --locked
	POSTERN_SOAK_MINUTES=$(MINUTES) POSTERN_SOAK_SEED=$(SEED) \
		$(CARGO) test --locked --test soak -- --nocapture --test-threads=1

# Three relays on three Galera nodes behind HAProxy, with twenty connectors and 200 visitors, of which everything is killed,
# cut off and restarted, and upgraded from the last version whose store has form 1; some minutes. `make test` has a small
# form of it, without the upgrade.
FORM_1 := e077ba03
EARLIER := $(CURDIR)/target/earlier
fleet:
	@tests/setup.sh
	@$(CARGO) build --release --locked
	@rm -rf $(EARLIER)/src && mkdir -p $(EARLIER)/src && git archive $(FORM_1) | tar -x -C $(EARLIER)/src
	@cd $(EARLIER)/src && $(CARGO) build --locked --target-dir $(EARLIER)
	POSTERN_BIN=$${POSTERN_BIN:-$(CURDIR)/target/release/postern} POSTERN_FLEET_WHOLE=1 POSTERN_FLEET_ROUNDS=1000 \
		POSTERN_EARLIER=$(EARLIER)/debug/postern \
		$(CARGO) test --locked --test fleet -- --nocapture --test-threads=1
	$(CARGO) bench --locked --profile release --bench fleet

# Fuzz targets, 20 seconds each.
fuzz:
	@tests/fuzz/run.sh

# The figures that README.md quotes, measured on this machine; the tunnel's beside the tunnels whose
# binaries POSTERN_CHISEL, POSTERN_SSHD, POSTERN_RATHOLE and POSTERN_BORE name.
bench:
	@tests/setup.sh
	$(CARGO) bench --locked --profile release --bench figures
	$(CARGO) bench --locked --profile release --bench tunnel
	$(CARGO) bench --locked --profile release --bench gateway
	$(CARGO) bench --locked --profile release --bench site
	$(CARGO) bench --locked --profile release --bench connect
	$(CARGO) test --locked --profile release --test perf figures -- --nocapture --test-threads=1

# A relay with 2,000 connectors and 10,000 sites; some minutes.
bench-scale:
	$(CARGO) build --release --locked
	$(CARGO) bench --locked --profile release --bench scale

# The tunnel of this build beside that of another one, POSTERN_OLD, by turns.
bench-pairs:
	@test -x "$(POSTERN_OLD)" || { echo "bench-pairs: POSTERN_OLD is not an executable" >&2; exit 1; }
	POSTERN_OLD=$(POSTERN_OLD) $(CARGO) bench --locked --profile release --bench tunnel

# A private MariaDB with sample data and a small web site, shared through a relay on this machine, until Ctrl-C.
# ARGS go to postern start.
demo:
	@tests/setup.sh demo
	@$(MAKE) --no-print-directory all
	@$(CARGO) build --release --locked --example demo-site
	@tests/demo/run.sh $(ARGS)

lint:
	tests/lines.sh --check
	tests/words.py --self-test
	tests/words.py
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets -- --deny warnings
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --locked --quiet --no-deps --document-private-items
	tests/knots.py --self-test
	tests/knots.py
	tests/typescript.sh
	tests/deny.py

# Writes what tests compare with: API descriptions, types and tables of the pages, limits of the manual, help and error
# texts, answers of the APIs. Read the changes with git diff.
bless:
	POSTERN_BLESS=1 $(CARGO) test --locked --lib -- openapi error_class the_form limits::
	POSTERN_BLESS=1 $(CARGO) test --locked --test cli -- snapshots
	POSTERN_BLESS=1 $(CARGO) test --locked --test manager --test sql -- the_server_keeps_to_its_description
	POSTERN_BLESS=1 $(CARGO) test --locked --test relay -- answers_are_those_of_the_description

fmt:
	$(CARGO) fmt --all

clean:
	$(CARGO) clean
