# Everything a checkout can do. Each target makes what it needs first; `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup run tour test test-nessie test-unity test-spark-versions judges judge-rck judge-pyiceberg judge-spark check drill bench-access bench-catalogs bench-dir bench-gravitino bench-iceberg bench-jobs bench-lake bench-maintenance bench-memory bench-pipeline bench-server bench-spark docs wheel pins clean

# The suite and Spark start hundreds of processes: what one has compiled, the next need not.
unexport PYTHONDONTWRITEBYTECODE

JOBS ?= auto
# Half of the whole suite's time is waiting, for servers and for Spark.
MORE_JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# To measure it takes time, which `make test COVERAGE=` saves.
COVERAGE ?= --cov --cov-report=
ROUNDS ?= 2000
SEED ?= new
# Whom the judges look at: lanceway or reference.
SERVER ?= lanceway
PY := .venv/bin/python
PYTEST := $(PY) -m pytest
READY := .venv/.ready
JVM := .venv/.jvm
GRAVITINO := .venv/.gravitino
SIGNING := .venv/.signing
UNIT := not s3 and not postgres and not server and not iceberg and not clients and not race and not conformance and not docs and not spark and not slow
# Files of which that leaves nothing: it takes longer to read them than to run many others.
BEYOND := $(addprefix --ignore=,tests/clients tests/pipelines tests/server tests/spark tests/test_docs.py) --ignore-glob='*/test_conformance*'
SOURCES := src tests samples bench docs

help:  ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Make .venv with all that is needed (does nothing the second time)

$(READY): pyproject.toml constraints.txt scripts/setup
	@scripts/setup
	@touch $@

# What Maven fetches for the servers that are Java programs.
$(JVM): $(READY) tests/servers/jvm.py $(wildcard tests/servers/jvm/*)
	@$(PY) -m tests.servers.jvm
	@touch $@

# The stock client of Gravitino, which cannot share an environment with the rest.
$(GRAVITINO): $(READY) tests/clients/gravitino/environment.py tests/clients/gravitino/requirements.txt
	@$(PY) -m tests.clients.gravitino.environment
	@touch $@

# pyiceberg with s3fs, which cannot either.
$(SIGNING): $(READY) tests/clients/signing/environment.py tests/clients/signing/requirements.txt
	@$(PY) -m tests.clients.signing.environment
	@touch $@

run: $(READY)  ## Start the server with a lake that a Spark pipeline fills (more options: ARGS="--port 8401")
	@$(PY) samples/serve.py $(ARGS)

tour: $(READY)  ## See the library work: tables made, listed, queried and searched
	@$(PY) samples/tour.py

test: $(READY) $(JVM) $(GRAVITINO) $(SIGNING)  ## Run the whole suite, real servers and real clients included
	@$(PYTEST) -q -n $(MORE_JOBS) --durations=10 $(COVERAGE)
	@test -z "$(COVERAGE)" || echo "coverage: $$($(PY) -m coverage report --format=total) % of the lines of lanceway, without what runs in processes of its own"

test-nessie: $(READY)  ## Run the Iceberg tests against Nessie, which needs a JDK of version 21 or later
	@$(PYTEST) -q -n $(JOBS) -m nessie

test-unity: $(READY)  ## Run the Unity tests against a real server: LANCEWAY_TEST_UNITY=http://localhost:8080
	@test -n "$$LANCEWAY_TEST_UNITY" || { echo "Set LANCEWAY_TEST_UNITY to the address of a Unity Catalog."; exit 2; }
	@$(PYTEST) -q -n $(JOBS) tests/catalogs/unity

test-spark-versions: $(READY)  ## Compile and try the Spark bridge on the other versions of Spark that it works with
	@scripts/spark-versions

judges: $(READY) $(JVM)  ## Have foreign judges look at Iceberg REST; SERVER=reference judges Iceberg's own server
	@$(PY) -m tests.judges --server $(SERVER)

judge-rck: $(READY) $(JVM)  ## Run Iceberg's REST Compatibility Kit alone
	@$(PY) -m tests.judges rck --server $(SERVER)

judge-pyiceberg: $(READY) $(JVM)  ## Run pyiceberg's own tests of catalogs alone
	@$(PY) -m tests.judges pyiceberg --server $(SERVER)

judge-spark: $(READY) $(JVM)  ## Run Spark SQL with Iceberg's runtime alone
	@$(PY) -m tests.judges spark --server $(SERVER)

check: $(READY)  ## Lint, format, types, the import contract and the unit tests
	@.venv/bin/ruff check $(SOURCES)
	@.venv/bin/ruff format --check $(SOURCES)
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@$(PYTEST) -q -n $(JOBS) -m "$(UNIT)" $(BEYOND)

drill: $(READY)  ## Run the races ROUNDS times over (default 2000), random tests with a new SEED
	@$(PYTEST) -q -m race --rounds $(ROUNDS) --seed $(SEED) --timeout 0

bench-access: $(READY)  ## Time decisions and filtered lists with a million grants, on both databases
	@$(PY) bench/access.py

bench-catalogs: $(READY) $(JVM)  ## Set Glue, Unity and Iceberg beside lance-namespace-impls, on the same servers
	@$(PY) bench/catalogs.py

bench-dir: $(READY)  ## Time the directory catalog beside pylance's own
	@$(PY) bench/directory.py

bench-gravitino: $(READY)  ## Load Gravitino REST with wrk, with up to 100,000 tables
	@$(PY) bench/gravitino.py

bench-iceberg: $(READY) $(JVM)  ## Load Iceberg REST with wrk beside the reference server, with up to 100,000 tables
	@$(PY) bench/iceberg.py

bench-jobs: $(READY)  ## Time jobs between catalogs with 10,000 tables, and their memory
	@$(PY) bench/jobs.py

bench-lake: $(READY)  ## Time the lake with up to a million tables, on both databases
	@$(PY) bench/lake.py

bench-maintenance: $(READY)  ## Time jobs on one table beside one process that does the same
	@$(PY) bench/maintenance.py

bench-memory: $(READY)  ## Peak memory of inserting and querying ten million rows
	@$(PY) bench/memory.py

bench-pipeline: $(READY)  ## Set a declared pipeline beside the same steps by hand, with Lance and with Parquet
	@$(PY) bench/pipeline.py

bench-server: $(READY)  ## Load the server and pylance's RestAdapter with wrk, on the same tables
	@$(PY) bench/server.py

bench-spark: $(READY)  ## Set Lance beside Parquet in one Spark session
	@$(PY) bench/spark.py

docs: $(READY)  ## Build the documentation into docs/_build; a warning is an error
	@$(PY) -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo "docs/_build/index.html"

wheel: $(READY)  ## Build the wheel into dist, with the jar of the Spark bridge in it
	@.venv/bin/uv build -q --wheel --no-build-isolation --python $(PY)
	@unzip -l dist/*.whl | grep -q 'lanceway-spark-.*[.]jar' || { echo "The wheel has no jar: it takes a JDK to build it."; exit 1; }
	@ls dist/*.whl

pins: $(READY)  ## Renew constraints.txt from what pyproject.toml asks for
	@scripts/pins

clean:  ## Remove what was built, cached and sampled (not .venv)
	@rm -rf docs/_build .sample build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests samples bench docs -name __pycache__ -prune -exec rm -rf {} +
