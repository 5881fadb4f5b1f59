# `make demo` and `make test` do all the set-up they need. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Random cases per property test.
CASES_CHECK := 20
CASES_TEST := 500
CASES_SOAK := 10000
# Processes among which pytest divides the Python tests: one takes work from another when it has no more of its own.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal
# `make test` draws the same cases each time, so that it repeats; `make soak` draws new ones.
SEED_TEST := 1
# No comment has an example that is a test, and looking for them takes a minute.
RUST_TESTS := --workspace --lib --bins --tests
# Where tests in Rust leave what they measure of the papers' claims.
CLAIMS := $(abspath target/claims)
# Programs besides the Python packages; tests that use them are skipped without them.
APT_PACKAGES := valgrind tshark chromium

# The compiler whose instructions the tests count.
TOOLCHAIN := $(shell sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)

# Counts of how often each part of the program runs, by which the compiler optimises; `make profile` renews them.
# Functions that have changed since are compiled without. tests/test_profile.py limits these, so the warnings are off.
PROFILED := RUSTFLAGS="-Cprofile-use=$(abspath crates/fanin.profdata) -Cllvm-args=-no-pgo-warn-mismatch"

QUIETLY := $(shell [ -t 2 ] || echo --quiet)

RUST_SOURCES := $(shell find crates -type f) Cargo.toml Cargo.lock rust-toolchain.toml
PYTHON_SOURCES := $(shell find python -type f -not -name '*.so' -not -name '*.pyc')

# The native module is built and tested against this interpreter, whatever else is on the PATH.
export PYO3_PYTHON := $(abspath $(BIN))/python

.PHONY: help setup library setup-dev notebook demo dev check test compiled lint test-rust test-python soak fuzz fmt bench \
	side-by-side papers clean validate wheel sdist site site-serve \
	frames docs pictures claims-pictures losses balancing clusters claims test-claims tested speed scale scale-threads budget profile spraying \
	certify-faults coverage
.DELETE_ON_ERROR:

help: ## what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

setup: $(BIN)/.native $(BIN)/.papers ## what running needs: virtual environment, dependencies, native module in release mode, experiments

library: $(BIN)/.cargo ## the simulator as a C library for other programs: target/release/libfanin.so
	$(PROFILED) cargo build --locked --release --package fanin-backend

setup-dev: setup $(BIN)/.packages-dev ## besides that, what tests and documentation need
	@for program in $(APT_PACKAGES); do command -v $$program >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then echo "optional programs are missing: sudo apt-get install -y $(APT_PACKAGES)"; fi

$(BIN)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: install Python 3.11 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is $$($(PYTHON) --version 2>&1), but Fanin needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: sudo apt-get install -y python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(BIN)/.packages: requirements.lock $(BIN)/.python
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	@touch $@

$(BIN)/.packages-dev: requirements-dev.lock $(BIN)/.packages
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(BIN)/.cargo: rust-toolchain.toml $(BIN)/.python
	@command -v cargo >/dev/null || { echo "cargo not found: install stable Rust from https://rustup.rs"; exit 1; }
	@cargo --version >/dev/null 2>&1 || rustup toolchain install $(TOOLCHAIN) --profile minimal
	@command -v cc >/dev/null || { echo "cc not found: install a C compiler (sudo apt-get install -y gcc)"; exit 1; }
	@touch $@

$(BIN)/.toolchain: $(BIN)/.cargo
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add clippy rustfmt
	@touch $@

# On a terminal cargo shows how far it is.
$(BIN)/.native: $(BIN)/.packages $(BIN)/.cargo pyproject.toml $(RUST_SOURCES)
	@echo "compiling the simulator: four to six minutes on two cores; the last one to two are a single step"
	$(PROFILED) PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop $(QUIETLY) --release
	@touch $@

# The papers' experiments, which need nothing besides Fanin. -qq: setuptools warns of every editable installation.
$(BIN)/.papers: $(BIN)/.native papers/pyproject.toml
	$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable papers
	@touch $@

# In the same target folder as the native module, so that nothing is compiled twice.
$(BIN)/.wheel: $(BIN)/.native $(PYTHON_SOURCES) README.md LICENSE
	rm -f dist/*.whl
	$(PROFILED) $(BIN)/maturin build --quiet --release --compatibility pypi --out dist
	@touch $@

# The next target that needs `setup` builds in release mode again.
dev: $(BIN)/.packages $(BIN)/.cargo ## the native module for development, after a change in Rust: built in seconds, a little slower
	@rm -f $(BIN)/.native
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --quiet --profile quick

wheel: $(BIN)/.wheel ## a wheel for every Python from 3.11 on, in dist

# The archive is built as pip does it, in an empty folder and without counts for the compiler, and the wheel then runs.
sdist: setup ## the source archive in dist, and as a check a wheel from it that runs (a few minutes)
	rm -f dist/*.tar.gz
	$(BIN)/maturin sdist --out dist
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $$folder \
		dist/*.tar.gz && \
	$(BIN)/python -m zipfile -e $$folder/*.whl $$folder/package && cd $$folder && \
	PYTHONPATH=package $(abspath $(BIN))/python -m fanin new my.toml && \
	PYTHONPATH=package $(abspath $(BIN))/python -m fanin run my.toml --set "measure.window=1 ms" && \
	PYTHONPATH=package $(abspath $(BIN))/python -c \
		'import fanin, sys; sys.exit(not fanin.__file__.startswith(sys.argv[1]))' $$folder/package

profile: setup ## renew the counts for the compiler, after changes of code that runs for each packet
	$(BIN)/python -m bench profile

docs: setup-dev ## renew the parts of docs that are made from the code
	PYTHONPATH=tools $(BIN)/python -m pages

# Warnings are errors: a page, a link or an anchor that is not there.
MKDOCS := PYTHONPATH=tools:python:papers NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs

site: setup-dev ## the documentation as a site, in the folder site; it needs no server: open site/index.html
	$(MKDOCS) build --strict --quiet

site-serve: setup-dev ## the same on http://127.0.0.1:8000, renewed at each change
	$(MKDOCS) serve

pictures: setup ## the pictures of flows that join and leave, for the pages of the schemes
	PYTHONPATH=tools $(BIN)/python -m pages.pictures

claims-pictures: setup ## claims against readings of what the papers leave open, for docs/claims
	PYTHONPATH=tools $(BIN)/python -m pages.claims

losses: setup ## the picture and the table of docs/loss.md
	PYTHONPATH=tools $(BIN)/python -m pages.losses

balancing: setup ## the picture and the tables of docs/load-balancing.md
	PYTHONPATH=tools $(BIN)/python -m pages.balancing

clusters: setup ## the picture and the table of docs/collectives.md; with K=16 those of 1,024 GPUs, in an hour
	PYTHONPATH=tools $(BIN)/python -m pages.clusters $(if $(K),--k $(K)) $(if $(OUT),--out $(OUT))

notebook: setup ## docs/tutorial.ipynb in JupyterLab, with what it needs besides
	$(BIN)/python -m pip install --quiet jupyterlab $$($(BIN)/python -c 'import tomllib; \
		print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["notebook"])')
	$(BIN)/python -m jupyter lab docs/tutorial.ipynb

demo: setup ## the main job: schemes side by side on a datacenter under incast
	$(BIN)/fanin compare papers/specs/dart/fig14-headline.toml

# Two things are compiled at a time: the release build ends in minutes on one core.
test: $(BIN)/.toolchain ## the whole test suite
	$(MAKE) -j 2 setup-dev compiled
	$(MAKE) lint test-rust test-python test-claims

# Files of Python tests that take most of the time: what they build, run whole, or start and stop. CONTRIBUTING.md says
# what only they find.
LONG := $(addprefix tests/test_,wheel.py instructions.py help_examples.py nothing_lost.py sweep.py interrupt.py \
	own_scheme.py answers.py tutorial.py new.py stubs.py wire.py new_scheme.py site.py faults.py) \
	$(addprefix papers/tests/test_,dctcp_claims.py papers.py)

check: lint ## most of the tests, with few random cases: minutes, for each change
	FANIN_CASES=$(CASES_CHECK) PROPTEST_RNG_SEED=$(SEED_TEST) cargo test --locked --quiet $(RUST_TESTS)
	FANIN_CASES=$(CASES_CHECK) $(PYTEST) --hypothesis-seed=$(SEED_TEST) $(addprefix --ignore=,$(LONG))

# What `lint` and `test-rust` need.
compiled: $(BIN)/.toolchain
	cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
	cargo test --locked --quiet $(RUST_TESTS) --no-run

lint: setup-dev $(BIN)/.toolchain
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check python papers conftest.py tests tools bench
	$(BIN)/ruff check python papers conftest.py tests tools bench
	$(BIN)/mypy
	$(BIN)/python tools/widths.py

test-rust: setup
	rm -rf $(CLAIMS)
	FANIN_CLAIMS=$(CLAIMS) FANIN_CASES=$(CASES_TEST) PROPTEST_RNG_SEED=$(SEED_TEST) \
		cargo test --locked --quiet $(RUST_TESTS)
	PYTHONPATH=tools $(BIN)/python -m pages.tested $(CLAIMS) --check

tested: setup ## record what the last `make test-rust` measured of the papers' claims
	PYTHONPATH=tools $(BIN)/python -m pages.tested $(CLAIMS)

test-python: setup-dev wheel
	FANIN_CASES=$(CASES_TEST) $(PYTEST) --hypothesis-seed=$(SEED_TEST)

test-claims: setup
	$(BIN)/fanin claims --check quick

soak: setup-dev ## the property tests with many more random cases
	seed=$(or $(SEED),$$(date +%s)); echo "the random cases of seed $$seed: make soak SEED=$$seed repeats them"; \
	export FANIN_CASES=$(CASES_SOAK) PROPTEST_RNG_SEED=$$seed; \
	cargo test --locked --quiet $(RUST_TESTS) && $(PYTEST) --hypothesis-seed=$$seed

certify-faults: setup-dev ## plant 40 faults in a copy of the simulator, one at a time, and count those that `fanin certify` finds; ONLY=NAME
	PYTHONPATH=tools $(BIN)/python -m faults $(if $(ONLY),--only "$(ONLY)")

coverage: setup ## how much of each crate its tests run, and the least covered files (half an hour)
	$(BIN)/python tools/coverage.py

# Debug assertions and overflow checks are on, as in the tests.
fuzz: ## 10,000 broken specs, then broken files against every reader until Ctrl-C, or for SECONDS=60
	cargo run --locked --quiet --profile test -p fanin-fuzz -- specs $(CASES_SOAK)
	cargo run --locked --quiet --profile test -p fanin-fuzz -- $(SECONDS)

frames: ## speed of CRCs, and of encoding and decoding each kind of frame
	cargo bench --locked --quiet -p fanin-wire --bench frames

fmt: $(BIN)/.packages-dev ## format Rust and Python
	cargo fmt --all
	$(BIN)/ruff format python papers conftest.py tests tools bench
	$(BIN)/ruff check --fix python papers conftest.py tests tools bench

bench: setup ## packet-hops per second on the fixed cases
	$(BIN)/fanin bench

side-by-side: setup ## other simulators beside ours, into docs/performance.md; with PEER_NS3=PROGRAM, PEER_HTSIM=DIR, PEER_UEC=PROGRAM, CASE=s5
	$(BIN)/python -m bench side-by-side --doc $(if $(PEER_NS3),--ns3 $(PEER_NS3)) $(if $(PEER_HTSIM),--htsim $(PEER_HTSIM)) \
		$(if $(PEER_UEC),--uec $(PEER_UEC)) $(addprefix --case ,$(CASE)) \
		$(if $(INPUTS),--inputs $(INPUTS))

speed: setup ## packet-hops per second of the cases on one core and two, on a quiet machine, into docs/performance.md
	$(BIN)/python -m bench speed --repeat 15 --patience 100 --doc

scale: setup ## start, speed and memory of 128 to 65,536 hosts, into bench/results/scale.json
	$(BIN)/python bench/scale.py

stages: setup ## where the time of a whole run goes, and what many small runs cost, into docs/performance.md
	$(BIN)/python -m bench stages --doc
	$(BIN)/python -m bench graphs --doc

spraying: setup ## Ultra Ethernet on the ordinary network against uet-htsim's, over seeds; LARGE=1 with 1,024 hosts, ONLY=CASE
	PYTHONPATH=tools $(BIN)/python bench/spraying.py $(if $(LARGE),--large) $(if $(ONLY),--only "$(ONLY)")

scale-threads: setup ## memory of 65,536 hosts on 1 to 64 threads, into bench/results/threads.json
	$(BIN)/python bench/scale.py --threads 1,2,4,16,64

budget: setup ## instructions and cache misses of a packet-hop by stage, into docs/performance.md; BEFORE=COMMIT as well
	$(BIN)/python -m bench budget --doc $(if $(BEFORE),--before $(BEFORE))

GOLDEN ?= ../shared/golden
validate: setup ## our results beside the ns-3 HPCC simulator's and uet-htsim's, from GOLDEN=DIR; pictures into docs/validation
	FANIN_GOLDEN=$(abspath $(GOLDEN)) cargo test --locked --quiet -p fanin-ns3 --test golden -- --skip traces
	$(if $(wildcard $(GOLDEN)/uec),FANIN_GOLDEN_UEC=$(abspath $(GOLDEN))/uec \
		cargo test --locked --quiet --release -p fanin-uet --test golden -- --nocapture)
	$(if $(wildcard $(GOLDEN)/ai),FANIN_GOLDEN_AI=$(abspath $(GOLDEN))/ai \
		cargo test --locked --quiet -p fanin-formats --test graphs -- --nocapture)
	$(BIN)/fanin validate $(GOLDEN) --out docs/validation

papers: setup ## the papers' experiments: pictures into docs/papers, our numbers beside theirs into the package (15 minutes)
	$(BIN)/fanin paper all --out docs/papers
	mv docs/papers/*.json papers/fanin_papers/claims/measured

claims: setup ## all experiments again in full, and every verdict compared with the recorded one
	$(BIN)/fanin claims --check all

clean: ## remove everything that can be rebuilt
	rm -rf target dist site papers/build bench/work $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python papers tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/fanin/_core*.so
