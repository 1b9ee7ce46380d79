# The door for people. Behind each word is one script or one `cargo xtask` task,
# and the build server calls the same ones.

SHELL := /bin/sh
# An ordinary `make test` builds exactly what Cargo.lock pins.
SETUP := . scripts/setup.sh

.PHONY: help run story test suites bench release
.DEFAULT_GOAL := help

help:
	@echo "Anywhen keeps every version of everything."
	@echo
	@echo "  make run     build it, start the server on a sample with a past, say what to try"
	@echo "  make story   documents on real history: import, diff, blame, one field over time"
	@echo "  make test    everything that is checked: format, lints, style, tests, end to end"
	@echo "  make suites  drivers' and ORMs' own tests, against this and PostgreSQL 17; takes an hour or two"
	@echo "  make release what a release is made of, in dist/: binary, wheels, manual pages, sums"
	@echo "  make bench   measure, against other ways to keep history, and draw the results"
	@echo
	@echo "  make story GIT_REPO=~/code/app GIT_PATH=package.json"
	@echo "               the same story on the history of a JSON file of yours"
	@echo "  make bench SUITE=versioned"
	@echo "               one suite only; docs/benchmarks.md says what there is"
	@echo "  make suites SUITE=sqlalchemy"
	@echo "               one suite only; tests/suites/run --list says which there are"
	@echo
	@echo "Start with README.md; the plan of the code is in ARCHITECTURE.md."

run:
	@$(SETUP) && scripts/build.sh && scripts/run.sh

story:
	@$(SETUP) && scripts/build.sh && \
	GIT_REPO='$(GIT_REPO)' GIT_PATH='$(GIT_PATH)' scripts/story.sh

test:
	@SETUP_ALSO=npm && $(SETUP) && cargo run --quiet --locked --package xtask -- ci

suites:
	@SETUP_ALSO=npm && $(SETUP) && tests/suites/run $(SUITE) $(ARGS)

bench:
	@SETUP_ALSO=npm && $(SETUP) && bench/run $(if $(SUITE),--suite $(SUITE)) $(ARGS)

release:
	@$(SETUP) && scripts/release.sh $(PARTS)
