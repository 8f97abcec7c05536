# Set-up, build, tests and demonstration in one word each. `make help` lists them.
#
# Everything real is in CMake (CMakeLists.txt, CMakePresets.json) and in tools/setup.sh; this file only calls them in order.

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VECTORS ?= tests/vectors

# PYTHON counts only when it is given to make: machines that export a variable of this common name mean something else by it.
ifeq ($(origin PYTHON),command line)
  override HUDDLE_PYTHON := $(abspath $(shell command -v '$(PYTHON)'))
  ifeq ($(HUDDLE_PYTHON),)
    $(error PYTHON=$(PYTHON) is not a program; give the path of a Python that has torch)
  endif
endif
ifdef HUDDLE_PYTHON
  setup :=
else
  setup := tools/setup.sh
  HUDDLE_PYTHON := $(CURDIR)/.venv/bin/python
endif
export HUDDLE_PYTHON

# CMake takes its generator from this variable when a build folder is new.
ifneq ($(shell command -v ninja),)
  export CMAKE_GENERATOR ?= Ninja
endif

say := @printf '[huddle] %s\n'

# $(call configure,PRESET,FOLDER): runs CMake when the folder is new, was configured with another Python, or is older than the
# presets. All other reasons to reconfigure are known to the build itself.
define configure
	@if [ "$$(cat $(2)/huddle-configured 2>/dev/null)" != "$(HUDDLE_PYTHON)" ] || \
	    [ CMakePresets.json -nt $(2)/huddle-configured ] ; then \
	  echo "[huddle] configuring $(2) ..."; \
	  mkdir -p $(2) && \
	  if ! cmake --preset $(1) --fresh >$(2)/configure.log 2>&1; then cat $(2)/configure.log >&2; exit 1; fi && \
	  sed -n 's/^-- \(Huddle\|Left out\)/[huddle] \1/p' $(2)/configure.log && \
	  echo "$(HUDDLE_PYTHON)" >$(2)/huddle-configured; \
	fi
endef

# $(call build,FOLDER,TARGETS). A make that CMake calls is none of ours: it gets no flags from here.
define build
	@[ -e $(1)/huddle ] || echo "[huddle] compiling $(1) with $(JOBS) jobs (some minutes the first time) ..."
	@env -u MAKEFLAGS -u MAKELEVEL cmake --build $(1) --parallel $(JOBS) --target $(2)
endef

.PHONY: help
help:
	@echo "Huddle trains one model on many workers that synchronise in small, changing groups."
	@echo
	@echo "  make demo              four strategies train real digits in two simulated clusters; writes out/demo/report.html"
	@echo "  make test              build, then run all tests but the slow ones"
	@echo "  make build             build everything; the program is build/huddle"
	@echo "  make check             all that there is: tests, more warnings, sanitizers, slow tests, benchmarks"
	@echo "  make headlines         the papers' headlines, simulated: tables in docs/results (about an hour; fetches Fashion-MNIST)"
	@echo "  make vectors           compare the results with all test vectors in tests/vectors/"
	@echo "  make vectors VECTORS=DIR   ... or in another folder of the same form"
	@echo "  make format            lay out all C++ sources with clang-format"
	@echo "  make clean             remove the build folders (.venv/ and out/ stay)"
	@echo
	@echo "The first of them installs what is missing: Debian packages (as root or with sudo) and libtorch in .venv/."
	@echo "With a Python that already has torch nothing is installed:  make test PYTHON=/path/to/python"
	@echo "Fewer compilers at once, for a machine short of memory:     make build JOBS=2"
	@echo "Next: build/huddle --help, README.md, CONTRIBUTING.md"

.PHONY: setup
setup:
	@$(setup)

.PHONY: configure
configure: setup
	$(call configure,release,build)

.PHONY: build
build: configure
	$(call build,build,all)

.PHONY: demo
demo: configure
	$(call build,build,huddle train_digits)
	build/huddle compare demo --out out/demo

.PHONY: headlines
headlines: configure
	$(call build,build,huddle)
	@$(HUDDLE_PYTHON) tools/headlines.py

.PHONY: test
test: build
	@ctest --test-dir build --output-on-failure -j2 --no-tests=error -LE '^slow$$'

.PHONY: vectors
vectors: configure
	$(call build,build,huddle_vectors)
	build/huddle_vectors $(VECTORS)

.PHONY: check
check: test
	$(say) "more warnings (build-tidy) ..."
	$(call configure,tidy,build-tidy)
	$(call build,build-tidy,all)
	$(say) "memory errors (build-asan) ..."
	$(call configure,asan,build-asan)
	$(call build,build-asan,all)
	@ctest --preset asan
	$(say) "data races in the engines (build-tsan) ..."
	$(call configure,tsan,build-tsan)
	$(call build,build-tsan,engine_tests)
	@ctest --preset tsan
	$(say) "slow tests, and benchmarks at size ..."
	@ctest --preset slow
	$(say) "all checks passed"

.PHONY: format
format:
	@command -v clang-format >/dev/null || { echo "[huddle] clang-format is missing: apt-get install clang-format" >&2; exit 1; }
	@find huddle tests examples bench \( -name '*.h' -o -name '*.cc' \) -exec clang-format -i {} +

.PHONY: clean
clean:
	rm -rf build build-*
