# Needs Python 3.11 or newer and GNU make; installs everything else from wheels.
#
# .venv is made once. Its stamp says what was installed, in which folder, from which lock; it is written last and
# taken away first, so a stamp that still tells the truth means that nothing is to be done, and a .venv without
# one was interrupted and is made anew.

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

# The caller's own Python settings have no say in our environment.
unexport PYTHONHOME PYTHONPATH
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_USER := 0

# $(call quoted,TEXT): TEXT as one word for the shell, whatever it holds.
quoted = '$(subst ','\'',$(1))'

.PHONY: help crawl test check bench lock clean runtime dev

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

crawl: runtime ## Crawl a site, URL=https://…; without URL, a demonstration on this machine (more options: ARGS="…")
	@exec .venv/bin/comity $(if $(value URL),crawl $(call quoted,$(value URL)),demo) $(ARGS)

test: check ## Linters, types, import rules, then every test (choose some: ARGS="-k robots")
	@run() { .venv/bin/pytest "$$@" || [ $$? -eq 5 ]; }  # 5: none of those that were chosen are of this kind
	cores=$$(getconf _NPROCESSORS_ONLN)
	run -m "not alone and not roomy" -n $$((cores + 1)) --dist loadfile $(ARGS)
	run -m roomy -n $$((cores + 1)) --dist worksteal $(ARGS)
	run -m alone $(ARGS)

check: dev ## Linters, types and import rules only
	@set -x
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

bench: dev ## Measure: every script in bench/, or one (ONLY=name)
	@for script in bench/$(ONLY).py; do
		[ -f "$$script" ] || { echo "There is no $$script." >&2; exit 1; }
		echo "== $$script"
		.venv/bin/python "$$script" $(ARGS)
	done

clean: ## Remove the environment and every cache; what was crawled stays
	@rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .schemathesis build dist bench/results
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

lock: ## Write both lock files anew; pins stay where they can (newest versions: UPGRADE=1)
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
		echo 'An index address got into the locks (above); they are left as they were.' >&2
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
	describe() { echo "$$1 in $$(pwd -P)"; cksum "$$(lock_of "$$1")" pyproject.toml; }
	which_python() { "$$1" -I -c 'import sys; print(*sys.version_info[:3], sys.base_prefix)'; }
	# Whole: finished once, in this very folder, and its interpreter still finds its packages.
	whole() {
		[ -f .venv/stamp ] && grep -qxF -e "runtime in $$(pwd -P)" -e "dev in $$(pwd -P)" .venv/stamp || return 1
		.venv/bin/python -I -c 'import pip' 2>/dev/null || return 1
		[ -z "$$PYTHON" ] || [ "$$(which_python "$$PYTHON")" = "$$(which_python .venv/bin/python)" ]
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
	.venv/bin/python -m pip install -qq --no-input --require-hashes --requirement "$$(lock_of $@)"
	.venv/bin/python -m pip install -qq --no-input --no-deps --no-build-isolation --no-index --editable .
	describe $@ >.venv/stamp.new
	mv .venv/stamp.new .venv/stamp
