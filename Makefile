# Thin: each target calls a script or a CMake preset. What each does is said in README.md.
#   JOBS    compile and test jobs (default: number of cores)
#   NAME    the benchmark that `make bench` runs (default: all)
#   FUZZ_S  seconds for each fuzz target of `make fuzz` (default: 60)
#   LABEL   the tests that `make test` runs: unit, sql, interop, ... (default: all)
#   PREFIX  where `make install` installs (default: /usr/local)
JOBS ?= $(shell nproc)
FUZZ_S ?= 60
PREFIX ?= /usr/local
NAME ?=
LABEL ?=

.PHONY: help demo test build bench asan tsan fuzz format lint install deps
.NOTPARALLEL:

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -6
	@echo "targets: demo test build bench asan tsan fuzz format lint install"

deps:
	@tools/install_packages.sh
	@tools/fetch_deps.py

demo: build
	@tools/demo.sh

test: deps
	@tools/build.sh dev $(JOBS)
	@tools/run_tests.py build/dev --jobs $(JOBS) $(if $(LABEL),--label $(LABEL))

build: deps
	@tools/build.sh release $(JOBS)

bench: build
	@bench/run_bench.py $(NAME)

asan: deps
	@tools/build.sh asan $(JOBS)
	@tools/run_tests.py build/asan --jobs $(JOBS) --exclude-label interop --exclude-label check

tsan: deps
	@tools/build.sh tsan $(JOBS)
	@tools/run_tests.py build/tsan --jobs $(JOBS) --exclude-label check

fuzz: deps
	@tools/build.sh fuzz $(JOBS)
	@tools/run_fuzz.sh build/fuzz/fuzz $(FUZZ_S)

format: deps
	@tools/format.py

lint: deps
	@tools/lint.sh

install: build
	@cmake --install build/release --prefix "$(PREFIX)" >build/install.log || { cat build/install.log; exit 1; }
	@echo "installed under $(PREFIX)"
