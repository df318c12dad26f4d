# Everything a checkout can do. Each target makes what it needs first; `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help machine setup run tour test bare-machine test-gravitino test-lakekeeper test-nessie test-polaris test-unity test-spark-versions judges judge-rck judge-pyiceberg judge-spark judge-lancedb check drill bench bench-access bench-catalogs bench-console bench-dir bench-gravitino bench-iceberg bench-jobs bench-lake bench-lancedb bench-maintenance bench-memory bench-pipeline bench-server bench-spark docs pictures wheel pins clean

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
# What `make run` starts, without what the tests, the docs and the benchmarks need besides.
RUNNABLE := .venv/.runnable
JVM := .venv/.jvm
GRAVITINO := .venv/.gravitino
SIGNING := .venv/.signing
TYPESCRIPT := 5.9.3
# What the peer reaches Hive with. It names a thrift older than the extra's, and works with that.
HIVE_CLIENT := .venv/hive-client
HIVE_CLIENT_VERSION := 1.0.9
TSC := .venv/node/node_modules/.bin/tsc
UNIT := not s3 and not postgres and not server and not iceberg and not hive and not clients and not race and not conformance and not docs and not spark and not slow
# Files of which that leaves nothing: it takes longer to read them than to run many others. And those of the command
# line, which take as long as all others together: who changes it runs tests/cli.
BEYOND := $(addprefix --ignore=,tests/cli tests/clients tests/console tests/pipelines tests/server tests/spark tests/test_docs.py) --ignore-glob='*/test_conformance*'
SOURCES := src tests samples bench docs

help:  ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What comes first: nothing is fetched before.
machine:  ## Install what the machine lacks, or say it (PURPOSE=serve, run, java or test)
	@MAKING="$(MAKECMDGOALS)" scripts/machine $(PURPOSE)
PURPOSE := serve
run: PURPOSE := $(if $(findstring --without-pipeline,$(ARGS)),serve,run)
test: PURPOSE := test
judges judge-rck judge-pyiceberg judge-spark bench bench-catalogs bench-iceberg: PURPOSE := java

setup: $(READY)  ## Make .venv with all that is needed (does nothing the second time)

$(READY): pyproject.toml constraints.txt scripts/setup | machine
	@scripts/setup
	@touch $@ $(RUNNABLE)

$(RUNNABLE): pyproject.toml constraints.txt scripts/setup | machine
	@scripts/setup run
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

run: machine $(RUNNABLE)  ## Start the server with a lake that a Spark pipeline fills (more options: ARGS="--port 8401")
	@$(PY) samples/serve.py $(ARGS)

tour: $(RUNNABLE)  ## See the library work: tables made, listed, queried and searched
	@$(PY) samples/tour.py

test: machine $(READY) $(JVM) $(GRAVITINO) $(SIGNING)  ## Run the whole suite, real servers and real clients included
	@$(PYTEST) -q -n $(MORE_JOBS) --durations=10 $(COVERAGE)
	@test -z "$(COVERAGE)" || echo "coverage: $$($(PY) -m coverage report --format=total) % of the lines of lanceway, without what runs in processes of its own"

bare-machine:  ## Set up a bare Debian as make run and make test do, in a root file system of its own (takes root and debootstrap)
	@scripts/bare-machine

test-gravitino: $(READY)  ## Run the Gravitino tests against a real server: LANCEWAY_TEST_GRAVITINO=http://localhost:8090
	@test -n "$$LANCEWAY_TEST_GRAVITINO" || { echo "Set LANCEWAY_TEST_GRAVITINO to the address of a Gravitino server."; exit 2; }
	@$(PYTEST) -q -n $(JOBS) -m gravitino

test-lakekeeper: $(READY)  ## Run the tests of generic tables against a real server: LANCEWAY_TEST_LAKEKEEPER=http://localhost:8181
	@test -n "$$LANCEWAY_TEST_LAKEKEEPER" || { echo "Set LANCEWAY_TEST_LAKEKEEPER to the address of a Lakekeeper."; exit 2; }
	@$(PYTEST) -q -n $(JOBS) -m lakekeeper

test-nessie: $(READY)  ## Run the Iceberg tests against Nessie, which needs a JDK of version 21 or later
	@$(PYTEST) -q -n $(JOBS) -m nessie

test-polaris: $(READY)  ## Run the tests of generic tables against a real server: LANCEWAY_TEST_POLARIS=http://localhost:8181
	@test -n "$$LANCEWAY_TEST_POLARIS" || { echo "Set LANCEWAY_TEST_POLARIS to the address of a Polaris."; exit 2; }
	@$(PYTEST) -q -n $(JOBS) -m polaris

test-unity: $(READY)  ## Run the Unity tests against a real server: LANCEWAY_TEST_UNITY=http://localhost:8080
	@test -n "$$LANCEWAY_TEST_UNITY" || { echo "Set LANCEWAY_TEST_UNITY to the address of a Unity Catalog."; exit 2; }
	@$(PYTEST) -q -n $(JOBS) tests/catalogs/unity

test-spark-versions: $(READY)  ## Compile and try the Spark bridge on the other versions of Spark that it works with
	@scripts/spark-versions

judges: $(READY) $(JVM)  ## Have foreign judges look at Iceberg REST and LanceDB's protocol; SERVER=reference judges Iceberg's own server
	@$(PY) -m tests.judges --server $(SERVER)

judge-rck: $(READY) $(JVM)  ## Run Iceberg's REST Compatibility Kit alone
	@$(PY) -m tests.judges rck --server $(SERVER)

judge-pyiceberg: $(READY) $(JVM)  ## Run pyiceberg's own tests of catalogs alone
	@$(PY) -m tests.judges pyiceberg --server $(SERVER)

judge-spark: $(READY) $(JVM)  ## Run Spark SQL with Iceberg's runtime alone
	@$(PY) -m tests.judges spark --server $(SERVER)

judge-lancedb: $(READY)  ## Run older clients of LanceDB and the one for JavaScript alone; needs Node.js
	@$(PY) -m tests.judges lancedb

check: $(READY)  ## Lint, format, types (the console's too, where Node is), the import contract and the unit tests
	@.venv/bin/ruff check $(SOURCES)
	@.venv/bin/ruff format --check $(SOURCES)
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) -s .console-types; else echo "The types of the console are not checked: there is no Node."; fi
	@$(PYTEST) -q -n $(JOBS) -m "$(UNIT)" $(BEYOND)

# The types of the console's modules, by TypeScript, which reads them as they are: nothing is built from them.
.console-types: $(TSC)
	@$(TSC) --project tests/console/tsconfig.json

$(TSC):
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix .venv/node typescript@$(TYPESCRIPT)
	@test -x $@

drill: $(READY)  ## Run the races ROUNDS times over (default 2000), random tests with a new SEED
	@$(PYTEST) -q -m race --rounds $(ROUNDS) --seed $(SEED) --timeout 0

$(HIVE_CLIENT): $(READY)
	@$(PY) -m pip install --quiet --no-deps --target $@ hive-metastore-client==$(HIVE_CLIENT_VERSION)

bench: $(READY) $(JVM) $(HIVE_CLIENT)  ## Measure everything beside its peer in a short form, and write docs/reference/numbers.md
	@$(PY) bench/summary.py $(ARGS)

bench-access: $(READY)  ## Time decisions and filtered lists with a million grants, on both databases
	@$(PY) bench/access.py

bench-catalogs: $(READY) $(JVM) $(HIVE_CLIENT)  ## Set Glue, Unity, Iceberg, Hive and Polaris beside lance-namespace-impls, on the same servers
	@$(PY) bench/catalogs.py

bench-console: $(READY)  ## Time the console in Chromium: 10,000 namespaces, 2,000 columns, 10 million rows
	@$(PY) bench/console.py

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

bench-lancedb: $(READY)  ## Set LanceDB's remote client on a server beside LanceDB on the same folder
	@$(PY) bench/lancedb_remote.py

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

pictures: $(READY)  ## Draw the console's main pages in both themes into docs/images
	@$(PY) docs/pictures.py

wheel: $(READY)  ## Build the wheel into dist, with the jar of the Spark bridge in it
	@.venv/bin/uv build -q --wheel --no-build-isolation --python $(PY)
	@unzip -l dist/*.whl | grep -q 'lanceway-spark-.*[.]jar' || { echo "The wheel has no jar: it takes a JDK to build it."; exit 1; }
	@ls dist/*.whl

pins: $(READY)  ## Renew constraints.txt from what pyproject.toml asks for
	@scripts/pins

clean:  ## Remove what was built, cached and sampled (not .venv)
	@rm -rf docs/_build .sample build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests samples bench docs -name __pycache__ -prune -exec rm -rf {} +
