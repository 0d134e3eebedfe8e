# SPDX-License-Identifier: BSD-2-Clause
#
# The front desk. The building is meson's; see meson.build. `make help` lists what there is.
PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3
SUITE ?= bookworm
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ORDER ?= fixed
SEED ?=
WERROR ?= true
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: agent help run build writable test check corpus bench bench-instructions install format lint fuzz clean deps sarif soak fresh roots hostile never-reached uninstall deb dist site

help:
	@echo "make run      install what is missing, build, and trace a real program: see what seep does"
	@echo "make test     install what is missing, build twice, run all tests (ORDER=random SEED=n JOBS=n)"
	@echo "make check    the fast part of make test, on one build: for while you work"
	@echo "make build    build/seep and build/libseep.so, ready to use from there"
	@echo "make corpus   the programs of tests/corpus by four compilers' ways, and under LeakSanitizer and Valgrind"
	@echo "make install  install under PREFIX=$(PREFIX), in DESTDIR"
	@echo "make uninstall  take away what make install put there"
	@echo "make agent    build/seep-agent: the server for devices, one static program of musl; CPU=armhf: build/seep-agent-armhf; PACKED=1: smaller"
	@echo "make deb      packages of Debian in build/deb, looked at by lintian, tried in a minimal root"
	@echo "make dist     a tarball that builds without git, npm and a network"
	@echo "make site     the documents and manual pages as a folder of pages, build/site/index.html"
	@echo "make bench    what tracing costs, measured side by side (ONLY=micro,threads,real,memory,start,processes,growth,bpf,scan,parts,reports RUNS=n QUICK=1)"
	@echo "make soak     servers under seep and real clients, 20 minutes (SECONDS=n): steady memory, nothing lost"
	@echo "make soak ONLY=scan   eight real programs scanned idle, at work and when they leave: no false 'lost' (TIMES=n)"
	@echo "make soak ONLY=attach as many events as the processors can make, a minute each: nothing lost (SECONDS=n, root)"
	@echo "make soak ONLY=random random programs, run and scanned in all ways: what is told is what they do (TIMES=n seeds, FROM=seed)"
	@echo "make soak ONLY=leaksanitizer  random programs by gcc's and clang's -fsanitize=leak and under memcheck: each difference has a reason (SECONDS=n)"
	@echo "make soak ONLY=stale  the corpus with old words in its memory, beside memcheck: each difference has a reason"
	@echo "make soak ONLY=leaks  threads that hand blocks on, recorded: no leak is told but the planted one (TIMES=n processes)"
	@echo "make soak ONLY=faults each system call of the library fails, comes late or is preceded by a signal, in each mode (MODE=record)"
	@echo "make soak ONLY=programs  programs of others, untraced, in each mode and under memcheck: same output, counts, blocks (SECONDS=n, NAMES=...)"
	@echo "make soak ONLY=cross  all test programs on all CPUs under qemu-user: stacks are libgcc's (15 minutes)"
	@echo "make hostile  files and processes that want to hurt seep, and kills at any moment: minutes (ROUNDS=n, root)"
	@echo "make bench-instructions   instructions of the hot path against the committed counts (UPDATE=1)"
	@echo "make sarif    what seep check writes, against the JSON schema of the standard"
	@echo "make lint     format, clang-tidy and the rules of the house"
	@echo "make format   lay the C code out with clang-format"
	@echo "make never-reached  asserts of tests that no run of them reaches: they pass whatever seep does"
	@echo "make fuzz     fuzz each parser for FUZZ_SECONDS=$(FUZZ_SECONDS)"
	@echo "make deps     install what is missing, for all of the above (Debian; elsewhere it says what)"
	@echo "make fresh    make run and make test in a minimal Debian (SUITE=bookworm, trixie, forky; STEPS='run user test'; root)"
	@echo "make roots    minimal roots of four releases of Debian, for the tests that enter them (root)"
	@echo "make clean    remove all build directories"

# Installs nothing and asks nothing when all is there.
deps:
	@tools/install-deps.sh build demo test traced lint sarif web bench

run:
	@tools/install-deps.sh build demo
	@$(MAKE) --no-print-directory build
	@tools/demo.sh build

build: build/build.ninja
	@ninja -C build $(if $(VERBOSE),-v) ready
	@build/seep info | sed -n '/NO: left out of this build$$/ { N; s/^ *\(.*[^ ]\)  *NO: \(.*\)\n */\1: \2: /p; }'

# One line in place of meson's traceback: the folder belongs to another user, or root built in it.
writable:
	@mkdir -p build 2>/dev/null; \
	if [ -w build ] && { [ ! -e build/.ninja_log ] || [ -w build/.ninja_log ]; }; then exit 0; fi; \
	echo "make: $(CURDIR)/build cannot be written by this user (elsewhere: meson setup FOLDER, ninja -C FOLDER)" >&2; \
	exit 1

build/build.ninja: | writable
	@meson setup build --prefix=$(PREFIX)

test:
	@tools/install-deps.sh build test traced lint web
	@$(PYTHON) tools/run-tests.py --jobs $(JOBS) --order $(ORDER) $(if $(SEED),--seed $(SEED)) \
		--werror $(WERROR)

# At most 90 seconds on two processors, once build-test is there.
check:
	@tools/install-deps.sh build test
	@$(PYTHON) tools/run-tests.py --fast --jobs $(JOBS) --werror $(WERROR)

# Minutes: all four ways to compile the corpus, then docs/leak-agreement.md again.
corpus:
	@tools/install-deps.sh build test lint
	@$(MAKE) --no-print-directory build
	@SEEP_BUILD=$(CURDIR)/build SEEP_CORPUS=all $(PYTHON) -m pytest -q -p no:cacheprovider -n $(JOBS) tests/corpus
	@tools/leak-agreement.py --jobs $(JOBS)

install: build/build.ninja
	@meson configure build --prefix=$(PREFIX) >/dev/null
	@ninja -C build ready
	@meson install -C build --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

# What make install put there; what was there before stays. With the same PREFIX and DESTDIR.
uninstall: build/build.ninja
	@tools/uninstall.sh build $(if $(DESTDIR),$(abspath $(DESTDIR)))

agent:
	@tools/install-deps.sh build agent$(if $(CPU),-$(CPU))
	@$(MAKE) --no-print-directory build
	@tools/agent.sh $(if $(CPU),--cpu $(CPU)) $(if $(PACKED),--packed) build

deb:
	@tools/install-deps.sh build deb
	@tools/deb.sh build/deb

# A tarball of what is committed, which builds without git, npm and a network.
dist: build/build.ninja
	@meson dist -C build --no-tests --formats xztar

# Screenshots are those that the tests of tests/web left in a build.
site:
	@tools/install-deps.sh web
	@$(PYTHON) tools/site/make_site.py build/site $(patsubst %/web/shots,%,$(firstword $(wildcard build/web/shots build-test/web/shots)))

lint:
	@tools/install-deps.sh build test lint
	@$(MAKE) --no-print-directory build
	@tools/lint.sh build

format:
	@git ls-files -z 'src/*.[ch]' 'tests/*.[ch]' '*.cpp' 'bench/*.[ch]' | xargs -0 -r clang-format -i

fuzz:
	@tools/fuzz.sh $(FUZZ_SECONDS)

# ONLY=micro,threads,real,memory,start,processes,growth,bpf,scan a part; RUNS=n repetitions; QUICK=1 without peers.
bench:
	@tools/install-deps.sh build traced lint bench
	@$(MAKE) --no-print-directory build
	@$(PYTHON) bench/run.py --build build $(if $(ONLY),--only $(ONLY)) $(if $(RUNS),--runs $(RUNS)) \
		$(if $(QUICK),--quick)

# SECONDS=n for all servers together. ONLY=scan: TIMES=n looks at each program in each state; ONLY=random, leaksanitizer: TIMES=n seeds.
soak:
	@tools/install-deps.sh build traced
	@$(MAKE) --no-print-directory build
	@$(if $(filter scan,$(ONLY)),$(PYTHON) bench/scan_soak.py --build build $(if $(TIMES),--times $(TIMES)),\
		$(if $(filter attach,$(ONLY)),$(PYTHON) bench/attach_soak.py --build build $(if $(SECONDS),--seconds $(SECONDS)),\
		$(if $(filter leaksanitizer,$(ONLY)),$(PYTHON) bench/leaksanitizer.py --count $(or $(TIMES),400) $(if $(FROM),--from $(FROM)) $(if $(SECONDS),--seconds $(SECONDS)),\
		$(if $(filter stale,$(ONLY)),tools/stale-agreement.py --build build,\
		$(if $(filter faults,$(ONLY)),SEEP_BUILD=$(CURDIR)/build $(PYTHON) tests/live/fault_sweep.py $(if $(MODE),--mode $(MODE)),\
		$(if $(filter programs,$(ONLY)),$(PYTHON) bench/programs_soak.py --build build $(if $(SECONDS),--seconds $(SECONDS)) $(NAMES),\
		$(if $(filter cross,$(ONLY)),tools/install-deps.sh test cross && SEEP_BUILD=$(CURDIR)/build SEEP_CPUS=all $(PYTHON) -m pytest -q -p no:cacheprovider -n $(JOBS) tests/cross,\
		$(if $(filter leaks,$(ONLY)),SEEP_BUILD=$(CURDIR)/build SEEP_LEAK_ROUNDS=$(or $(TIMES),100) $(PYTHON) -m pytest -q -p no:cacheprovider tests/live/test_recording.py -k leak_is_told,\
		$(if $(filter random,$(ONLY)),$(PYTHON) tests/random/machine.py --build build --count $(or $(TIMES),10000) $(if $(FROM),--from $(FROM)),\
		$(PYTHON) bench/soak.py --build build $(if $(SECONDS),--seconds $(SECONDS)))))))))))

# What make test has of it, and kill rounds: ROUNDS=n of each command. Two tests a processor, because many wait.
hostile:
	@tools/install-deps.sh build test traced
	@$(MAKE) --no-print-directory build
	@ninja -C build
	@SEEP_BUILD=$(CURDIR)/build SEEP_KILL_ROUNDS=$(or $(ROUNDS),200) SEEP_ALL_FAULTS=1 SEEP_LOOKS=100 $(PYTHON) -m pytest -q -p no:cacheprovider \
		-n $$((2 * $(JOBS))) tests/hostile tests/live/test_hostile.py tests/live/test_kill.py tests/live/test_faults.py \
		tests/live/test_reachability.py

# UPDATE=1 makes what is counted now the committed state.
bench-instructions:
	@tools/install-deps.sh build bench
	@$(MAKE) --no-print-directory build
	@$(PYTHON) bench/instructions.py --build build $(if $(UPDATE),--update)

# An hour: each folder of tests once, with counts.
never-reached:
	@tools/install-deps.sh build test traced lint web
	@$(MAKE) --no-print-directory build
	@ninja -C build
	@tools/never-reached.py --build build --jobs $(JOBS)

clean:
	rm -rf build build-test build-sanitized build-fuzz

# What seep check writes, against the JSON schema of the standard (fetched by npm).
sarif:
	@tools/install-deps.sh build sarif
	@$(MAKE) --no-print-directory build
	@$(PYTHON) tools/check-sarif.py --build build

# The first commands of the README where nothing is installed; on forky make run alone.
fresh:
	@tools/fresh.sh $(SUITE) $(STEPS)

roots:
	@set -e; for suite in bullseye bookworm trixie forky; do tools/fresh.sh $$suite root; done
