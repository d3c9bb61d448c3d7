# Needs Python 3.11 or newer and GNU make; installs everything else from wheels.
#
# .venv is made once. Its stamp says what was installed, in which folder, from which lock; it is written last and
# taken away first, so a stamp that still tells the truth means that nothing is to be done, and a .venv without
# one was interrupted and is made again.

SHELL := /bin/sh
.SHELLFLAGS := -eu -c
.ONESHELL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON ?=
URL ?=
ARGS ?=
ONLY ?= [!_]*
UPGRADE ?=

# The caller's own Python settings have no say in our environment; without compiled modules every start takes twice as long.
unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_USER := 0

# $(call quoted,TEXT): TEXT as one word for the shell, whatever it holds.
quoted = '$(subst ','\'',$(1))'

.PHONY: help run crawl test check bench screenshots lock clean runtime dev

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

run: runtime ## Start the console, with scheduler and worker, and print its address (more options: ARGS="--port 8080")
	@exec .venv/bin/comity serve $(ARGS)

crawl: runtime ## Crawl a site, URL=https://…; without URL, a demonstration on this machine (more options: ARGS="…")
	@exec .venv/bin/comity $(if $(value URL),crawl $(call quoted,$(value URL)),demo) $(ARGS)

# Three things at once: types and import rules; most tests, side by side at low priority; and, with the first claim on the
# cores, one by one the tests that measure time (`alone`), then those that wait for processes (`roomy`). `--lane` and
# `--processes` are in tests/conftest.py. A test that fails in this crowd is repeated three times by itself: it has passed
# only if it passes each time.
test: dev ## Linters, types, import rules, and every test (choose some: ARGS="-k robots"; at full size: COMITY_TEST_LONG=1)
	@.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	checked=$$(mktemp)
	# A cache that is not there is not written, either: a third of mypy's time. `make check` writes one.
	cache=.mypy_cache; [ -d "$$cache" ] || cache=/dev/null
	{ nice -n 10 .venv/bin/lint-imports && nice -n 10 .venv/bin/mypy --cache-dir "$$cache"; } >"$$checked" 2>&1 & checking=$$!
	cores=$$(getconf _NPROCESSORS_ONLN)
	log=$$(mktemp)
	export COMITY_TEST_FAILURES=$$(mktemp)
	trap 'rm -f "$$log" "$$log.chosen" "$$checked" "$$COMITY_TEST_FAILURES"' EXIT
	# Memory instead of a disk, where there is enough: most tests make files and wait until they are written.
	free_kb=$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }')
	if [ -z "$${TMPDIR-}" ] && [ -w /dev/shm ] && [ "$${free_kb:-0}" -gt 4000000 ]; then export TMPDIR=/dev/shm; fi
	run() { status=0; "$$@" || status=$$?; if [ $$status -eq 5 ]; then status=0; else touch "$$log.chosen"; fi; return $$status; }  # 5: no test
	measured() {
		code=0
		run .venv/bin/pytest --lane alone $(ARGS) || code=$$?
		[ $$code -ge 2 ] || run .venv/bin/pytest --lane roomy --processes $$((cores + 1)) $(ARGS) || code=$$?
		return $$code
	}
	measured >"$$log" 2>&1 & measuring=$$!
	failed=0
	run nice -n 10 .venv/bin/pytest --lane crowd --processes $$((cores + 3)) $(ARGS) || failed=$$?
	beside=0
	wait $$measuring || beside=$$?
	cat "$$log"
	correct=0
	wait $$checking || correct=$$?
	cat "$$checked"
	[ $$correct -eq 0 ] || exit $$correct
	[ -e "$$log.chosen" ] || { printf 'No test was chosen by ARGS=%s\n' $(call quoted,$(value ARGS)) >&2; exit 5; }
	[ $$beside -le $$failed ] || failed=$$beside
	[ $$failed -eq 1 ] || exit $$failed  # 0: all passed; above 1: pytest itself failed
	sort -u -o "$$COMITY_TEST_FAILURES" "$$COMITY_TEST_FAILURES"
	[ -s "$$COMITY_TEST_FAILURES" ] && [ "$$(wc -l <"$$COMITY_TEST_FAILURES")" -le 5 ] || exit 1  # none: pytest would run all
	echo "These tests failed beside others. Each is repeated three times by itself:"
	cat "$$COMITY_TEST_FAILURES"
	for turn in 1 2 3; do COMITY_TEST_FAILURES= .venv/bin/pytest @"$$COMITY_TEST_FAILURES"; done
	echo "They pass by themselves, so they are unsteady: find out what they wait for, and fix that."

check: dev ## Linters, types and import rules only
	@$(checks)

define checks
	.venv/bin/mypy & types=$$!
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports
	wait $$types
endef

bench: dev ## Measure: every script in bench/, or one (ONLY=name)
	@for script in bench/$(ONLY).py; do
		[ -f "$$script" ] || { echo "There is no $$script." >&2; exit 1; }
		echo "== $$script"
		.venv/bin/python "$$script" $(ARGS)
	done

screenshots: dev ## Take a picture of every page of the console, light, dark and on a phone (some: ARGS="hosts queue")
	@.venv/bin/python tools/screenshots.py $(ARGS)

clean: ## Remove the environment and every cache; what was crawled stays
	@rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .schemathesis build dist bench/results
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
	find src -name '_*.so' -delete

lock: ## Write both lock files again; pins stay where they can (newest versions: UPGRADE=1)
	@$(functions)
	python=$$(choose_python)
	folder=$$(mktemp -d)
	trap 'rm -rf "$$folder"' EXIT
	"$$python" -m venv "$$folder/venv"
	"$$folder/venv/bin/python" -m pip install -qq uv
	cp pyproject.toml requirements.lock requirements-dev.lock "$$folder"
	compile() { (
		cd "$$folder"
		venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
			$(if $(UPGRADE),--upgrade) "$$@" pyproject.toml
	); }
	compile --group build --output-file requirements.lock
	compile --group dev --all-extras --constraint requirements.lock --output-file requirements-dev.lock
	if grep -nE '://|file:|^ *-(-index|-extra|-find|i |f )' "$$folder"/requirements*.lock; then
		echo 'An index address got into the locks (above); they were not changed.' >&2
		exit 1
	fi
	cp "$$folder/requirements.lock" "$$folder/requirements-dev.lock" .

# The shell's part of the set-up, shared by the recipes that need it.
define functions
	PYTHON=$(call quoted,$(value PYTHON))
	fail() { echo "comity: $$*" >&2; exit 1; }
	usable() { "$$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
	choose_python() {
		if [ -n "$$PYTHON" ]; then
			usable "$$PYTHON" || fail "PYTHON=$$PYTHON cannot be used: it must be Python 3.11 or newer with venv and ensurepip."
			echo "$$PYTHON"
			return
		fi
		for candidate in python3.11 python3.12 python3.13 python3; do
			if usable "$$candidate"; then echo "$$candidate"; return; fi
		done
		fail 'no Python 3.11 or newer with venv was found; install one (Debian, Ubuntu: apt install python3 python3-venv) or name it: make PYTHON=/path/to/python3'
	}
	lock_of() { if [ "$$1" = dev ]; then echo requirements-dev.lock; else echo requirements.lock; fi; }
	describe() { echo "$$1 in $$(pwd -P)"; cksum "$$(lock_of "$$1")" pyproject.toml hatch_build.py $$(find src/comity -name '_*.[ch]' | LC_ALL=C sort); }
	which_python() { "$$1" -I -c 'import sys; print(*sys.version_info[:3], sys.base_prefix)'; }
	# Whole: finished once, in this very folder, and its interpreter still finds its packages.
	whole() {
		[ -f .venv/stamp ] && grep -qxF -e "runtime in $$(pwd -P)" -e "dev in $$(pwd -P)" .venv/stamp || return 1
		.venv/bin/python -I -c 'import pip' 2>/dev/null || return 1
		[ -z "$$PYTHON" ] || [ "$$(which_python "$$PYTHON")" = "$$(which_python .venv/bin/python)" ]
	}
	# One process of pip keeps one core busy, so two of them install half of the packages each. A lock names all that is
	# needed (tests/house/test_locks.py): neither half looks for what is in the other.
	install_half() {
		awk -v half="$$2" '/^[^ #]/ { entries++ } entries && entries % 2 == half' "$$1" >".venv/half-$$2-of-$$1"
		.venv/bin/python -m pip install -qq --no-input --no-deps --require-hashes --requirement ".venv/half-$$2-of-$$1"
	}
	install_lock() {
		install_half "$$1" 0 & other=$$!
		code=0
		install_half "$$1" 1 || code=$$?
		wait $$other || code=$$?
		return $$code
	}
	# The development environment holds all of the runtime's.
	ready() {
		whole || return 1
		stamp=$$(cat .venv/stamp)
		[ "$$stamp" = "$$(describe "$$1")" ] || [ "$$stamp" = "$$(describe dev)" ]
	}
endef

runtime dev:
	@$(functions)
	if ready $@; then exit 0; fi
	exec 9<Makefile
	if command -v flock >/dev/null && ! flock -n 9; then
		echo 'Another make is setting up; waiting for it.'
		flock 9
	fi
	if ready $@; then exit 0; fi
	if ! whole; then
		python=$$(choose_python)
		echo "Setting up .venv with $$("$$python" --version), once; this takes about half a minute."
		rm -rf .venv
		"$$python" -m venv .venv
	else
		echo "Bringing .venv up to date with $$(lock_of $@) and pyproject.toml."
	fi
	rm -f .venv/stamp
	install_lock "$$(lock_of $@)"
	.venv/bin/python -m pip install -qq --no-input --no-deps --no-build-isolation --no-index --editable .
	# Or each start compiles 700 modules anew where Python may not write its own cache (PYTHONDONTWRITEBYTECODE).
	.venv/bin/python -m compileall -q -j 0 src/comity || true
	describe $@ >.venv/stamp.new
	mv .venv/stamp.new .venv/stamp
