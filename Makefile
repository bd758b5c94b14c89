# A table of contents; the work is in packaging/. Every target installs what it needs and asks nothing.
.PHONY: prove build install uninstall build-lib install-lib uninstall-lib static wheel dist reproducible test-python test test-quick test-kernel test-kernel-debug kernel-packages test-fleet test-pru bench cross packages packages-all test-packages lab fresh fmt lint crates mutants interleavings sanitizers campaign soak clean help

prove: build ## show what this machine can do: stock against ontick, about a minute; leaves ontick-report.html
	packaging/needs prove
	packaging/prove

build: ## target/release/ontick, with a Rust from the distribution if none is here
	packaging/needs build
	packaging/rust --install >/dev/null
	packaging/cargo build --release --locked

# Root would own what it builds: what is built already is only copied.
install: ## PREFIX/bin/ontick; PREFIX is /usr/local for root and ~/.local for others
	@[ -x target/release/ontick ] || $(MAKE) build
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install

uninstall: ## takes it away again, and nothing else
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install --uninstall

build-lib: ## target/libontick: the library for programs in C and C++ (docs/c.md)
	packaging/needs build
	packaging/rust --install >/dev/null
	packaging/build-lib

install-lib: ## header, libraries and pkg-config file below PREFIX, as for install
	@[ -e target/libontick/libontick.a ] || $(MAKE) build-lib
	@PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)' packaging/install-lib

static: ## dist/ontick-VERSION-ARCHITECTURE: one file each that needs nothing of a machine; MACHINES=x86_64 makes that one alone
	packaging/static $(MACHINES)

wheel: ## dist/ontick-….whl, the Python package for CPython 3.11 and later (docs/python.md)
	packaging/needs wheel
	packaging/wheel

dist: build ## dist/: the packages of `packages`, the files of `static` and the wheel, with SHA256SUMS
	packaging/packages
	packaging/static
	packaging/needs wheel
	packaging/wheel

reproducible: ## builds the static files in two folders and compares them byte by byte (docs/install.md)
	packaging/reproducible

uninstall-lib: ## takes them away again
	@PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)' packaging/install-lib --uninstall

test: ## everything that CI runs
	packaging/test

test-quick: ## lints and tests only, with what is here
	packaging/test --quick

test-python: ## the Python package: its wheel in fresh environments of each CPython here, its types
	packaging/needs wheel
	packaging/test-python

test-kernel: build ## a real-time kernel from source, built by ontick and booted on an emulated Raspberry Pi 3
	packaging/needs kernel
	packaging/test-kernel

test-kernel-debug: build ## the kernel module on a kernel that finds fault with locks, memory and waiting, built for it
	packaging/test-kernel-debug

kernel-packages: build ## real-time kernels of the Raspberry Pi 3, 4 and 5 as packages, booted on the emulated board; takes hours
	packaging/needs kernel
	packaging/kernel-packages

test-fleet: packages ## the Ansible collection against three emulated machines, over SSH; a quarter of an hour (docs/lab.md)
	packaging/test-fleet

test-pru: ## the PRU's firmware, cycle by cycle in a simulator, whose build takes minutes (docs/pru.md)
	packaging/test-pru

bench: build ## side by side with cyclictest and jitterdebugger
	packaging/needs bench
	bench/run

cross: ## target/*/release/ontick for 64-bit and 32-bit ARM, one file each
	packaging/rust --install >/dev/null
	packaging/cross

packages: build ## dist/: Debian packages of the program and of the kernel module, for machines like this one
	packaging/packages

packages-all: build ## the same for amd64, arm64, armhf and riscv64, by Debian's cross compilers; 20 minutes on 2 CPUs
	packaging/packages --all

test-packages: ## installs, uses and removes the packages of dist/ in fresh roots of Debian 12 and 13 (--all: foreign ones too)
	packaging/test-packages

lab: build ## tests on kernels and boards that this machine lacks, emulated (docs/lab.md)
	packaging/needs test
	lab/test

fresh: ## prove and test in a fresh Debian 12 and a fresh Debian 13
	packaging/fresh-root

fmt: ## format the Rust code
	packaging/cargo fmt --all

lint: ## formatting, clippy, rustdoc, shellcheck, ansible-lint
	packaging/lint

crates: ## pack every crate as a registry would get it, and build each from its package alone
	packaging/crates

mutants: ## change what must be right line by line, and see that a test fails each time; hours (docs/mutants.md)
	packaging/mutants

interleavings: ## try all interleavings of threads that share memory without locks; a minute (docs/interleavings.md)
	packaging/interleavings

sanitizers: ## tests of the crates with `unsafe`, and of the program, under the address sanitizer; half an hour (docs/endurance.md)
	packaging/sanitizers

campaign: ## kill every command that changes something at each of its system calls; hours (docs/endurance.md)
	packaging/campaign

soak: ## all long-running commands side by side under faults, for MINUTES=60, in the order of SEED (docs/endurance.md)
	packaging/soak $(or $(MINUTES),60) $(SEED)

clean: ## remove what was built and cached
	rm -rf target ontick-report.html

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 20
