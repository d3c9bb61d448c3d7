"""What is in deploy/ can be used as it stands: it parses, names settings and commands that exist, and stops in time."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from comity.doors.cli.main import app

REPOSITORY = Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
SETTING = re.compile(r"\bCOMITY_[A-Z_]+\b")
IN_PROSE = re.compile(r"^(?:#\s+|\s*)(?:docker compose .* tools|comity) (.*)$", re.MULTILINE)
FETCH_TIMEOUT_S = 30  # as every file here sets it
LEAST_DRAIN_S = 6 * FETCH_TIMEOUT_S + 60  # a page behind five slow redirects, then the last part
KINDS = {
    "ConfigMap": "v1",
    "Deployment": "apps/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Job": "batch/v1",
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Namespace": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PersistentVolumeClaim": "v1",
    "PodDisruptionBudget": "policy/v1",
    "Secret": "v1",
}


def loaded(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    return document


def unit(path: Path) -> dict[str, dict[str, list[str]]]:
    """A unit as systemd reads it: sections of names, each with all its values."""
    found: dict[str, dict[str, list[str]]] = {}
    section = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(section, {}).setdefault(name, []).append(value)
    return found


def pod(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = loaded(DEPLOY / "kubernetes" / name)["spec"]["template"]["spec"]
    return spec


def understood(arguments: list[str]) -> str:
    """Parse a command line as `comity` does, without doing anything; gives the name of the command."""
    context = typer.main.get_command(app).make_context("comity", list(arguments))
    group: Any = context.command
    rest = [*context._protected_args, *context.args]
    names = []
    while hasattr(group, "resolve_command"):
        name, group, rest = group.resolve_command(context, rest)
        names.append(name)
        if hasattr(group, "resolve_command"):
            context = group.make_context(name, rest, parent=context)
            rest = [*context._protected_args, *context.args]
    group.make_context(names[-1], rest, parent=context)
    return " ".join(names)


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for path in UNITS:
        (started,) = unit(path)["Service"]["ExecStart"]
        program, *arguments = started.split()
        assert program.endswith("/comity")
        yield path.name, arguments
    services = loaded(DEPLOY / "compose.yaml")["services"]
    for name in ("migrate", "worker", "tools"):
        yield f"compose {name}", services[name]["command"]
    for name in ("migrate.yaml", "worker.yaml"):
        (container,) = pod(name)["containers"]
        yield name, container["args"]
    text = (DEPLOY / "Containerfile").read_text()
    (command,) = re.findall(r"^CMD \[(.*)\]$", text, re.MULTILINE)
    yield "Containerfile", [word.strip('" ') for word in command.split(",")]
    for path in (DEPLOY / "compose.yaml", *(REPOSITORY / "docs" / name for name in ("deploying.md", "sizing.md"))):
        for line in IN_PROSE.findall(path.read_text()):
            yield f"{path.name}: {line}", shlex.split(line)


@pytest.mark.parametrize("arguments", [pytest.param(words, id=where) for where, words in command_lines()])
def test_every_command_line_is_understood(arguments: list[str]) -> None:
    assert understood(arguments)


def test_a_command_line_that_is_not_understood_would_be_found() -> None:
    for wrong in (["work", "--nope"], ["db", "migrat"], ["works"]):
        with pytest.raises(Exception, match="No such"):
            understood(wrong)


@pytest.mark.parametrize("path", [*FILES, REPOSITORY / "docs/deploying.md", REPOSITORY / "docs/sizing.md"], ids=str)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    known = set(SETTING.findall((REPOSITORY / "docs" / "settings.md").read_text()))
    known |= {"COMITY_METRICS", "COMITY_REDIS_URL"}
    assert set(SETTING.findall(path.read_text())) <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_names_a_registry_or_a_real_secret(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"(docker\.io|ghcr\.io|quay\.io|gcr\.io|localhost:5000)", text)
    assert not re.search(r"://[a-z]+:(?!change-me@|\$)[^@\s]+@", text)


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_is_one_that_systemd_takes(path: Path, tmp_path: Path) -> None:
    sections = unit(path)
    assert {"Unit", "Service"} <= set(sections) <= {"Unit", "Service", "Install"}
    assert sections["Service"]["EnvironmentFile"][0] == "/etc/comity/worker.env"
    assert sections["Service"]["NoNewPrivileges"] == ["yes"]
    program = shutil.which("systemd-analyze")
    if program is None:
        assert all(name[0].isupper() for section in sections.values() for name in section)
        return
    copy = tmp_path / path.name
    copy.write_text(path.read_text().replace("/opt/comity/bin/comity", "/bin/true"))
    done = subprocess.run([program, "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if path.name in line]) == (0, [])


def test_a_worker_of_systemd_is_stopped_gently_and_started_again() -> None:
    service = unit(DEPLOY / "systemd" / "comity-worker@.service")["Service"]
    # With control-group its processes would hear of it twice, and the second time means: at once.
    assert (service["KillSignal"], service["KillMode"]) == (["SIGTERM"], ["mixed"])
    assert int(service["TimeoutStopSec"][0]) >= LEAST_DRAIN_S
    assert service["Restart"] == ["on-failure"]
    # A database that is away for an hour must not leave a machine without workers for good.
    assert unit(DEPLOY / "systemd" / "comity-worker@.service")["Unit"]["StartLimitIntervalSec"] == ["0"]
    assert "ProcSubset" not in service  # it would hide the boot from those who look for dead processes


def test_the_environment_of_systemd_is_one() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string("[all]\n" + (DEPLOY / "systemd" / "worker.env").read_text())
    assert parser["all"]["COMITY_FETCH_TIMEOUT"] == str(FETCH_TIMEOUT_S)


def test_the_rehearsal_has_everything_in_its_order() -> None:
    document = loaded(DEPLOY / "compose.yaml")
    services = document["services"]
    assert set(services) == {"postgres", "valkey", "migrate", "worker", "tools"}
    assert set(document["volumes"]) == {"postgres", "valkey", "pages"}
    worker = services["worker"]
    assert worker["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert worker["depends_on"]["postgres"] == worker["depends_on"]["valkey"] == {"condition": "service_healthy"}
    assert "container_name" not in worker  # else it could not be scaled
    assert "ports" not in worker
    assert int(worker["stop_grace_period"].removesuffix("m")) * 60 >= LEAST_DRAIN_S
    assert worker["environment"]["COMITY_FETCH_TIMEOUT"] == str(FETCH_TIMEOUT_S)
    valkey = " ".join(services["valkey"]["command"])
    assert "--appendonly yes" in valkey
    assert "--maxmemory-policy noeviction" in valkey
    assert all("healthcheck" in services[name] for name in ("postgres", "valkey"))
    assert services["migrate"]["restart"] == "no"


def test_the_image_is_built_from_the_locks_and_runs_as_nobody() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert len(re.findall(r"^FROM python:[\w.-]+", text, re.MULTILINE)) == text.count("\nFROM ") == 2
    assert text.count("--require-hashes") == 2
    assert re.search(r"^USER (\d+):\1$", text, re.MULTILINE)
    assert "HEALTHCHECK" in text
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (REPOSITORY / source).exists()
            assert f"!{source}" in ignored


def test_what_the_image_needs_besides_is_picked_with_its_hashes() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    (arguments,) = re.findall(r"pick_pins\.py (.*) > ", text)
    command = [sys.executable, str(DEPLOY / "pick_pins.py"), *arguments.split()]
    picked = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60).stdout
    entries = re.split(r"\n(?=\S)", picked.strip())
    assert [re.split("==", entry)[0] for entry in entries] == ["psycopg", "psycopg-binary", "redis"]
    assert all("--hash=sha256:" in entry for entry in entries)
    command[-1] = "no-such-package"
    failed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert (failed.returncode, failed.stdout, failed.stderr) == (1, "", "not in the lock: no-such-package\n")


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_of_a_kind_that_exists(path: Path) -> None:
    document = loaded(path)
    assert document["apiVersion"] == KINDS[document["kind"]]
    if document["kind"] != "Kustomization":
        assert re.fullmatch(r"[a-z][a-z0-9-]*", document["metadata"]["name"])


def test_the_manifests_are_applied_together() -> None:
    text = (DEPLOY / "kubernetes" / "kustomization.yaml").read_text()
    named = set(yaml.safe_load(text)["resources"]) | set(re.findall(r"# - (\S+\.yaml)", text))
    assert named == {path.name for path in MANIFESTS} - {"kustomization.yaml"}


@pytest.mark.parametrize("name", ["worker.yaml", "migrate.yaml"])
def test_a_pod_may_do_nothing_but_its_work(name: str) -> None:
    spec = pod(name)
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert f"USER {spec['securityContext']['runAsUser']}:" in (DEPLOY / "Containerfile").read_text()
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert [next(iter(each)) for each in container["envFrom"]] == ["configMapRef", "secretRef"]
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}


def test_a_worker_of_kubernetes_is_watched_and_stopped_gently() -> None:
    spec = pod("worker.yaml")
    (container,) = spec["containers"]
    paths = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    (port,) = container["ports"]
    config = loaded(DEPLOY / "kubernetes" / "config.yaml")["data"]
    assert config["COMITY_METRICS"] == f"0.0.0.0:{port['containerPort']}"
    assert config["COMITY_FETCH_TIMEOUT"] == str(FETCH_TIMEOUT_S)
    pause_s = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert spec["terminationGracePeriodSeconds"] - pause_s >= LEAST_DRAIN_S


def test_whoever_names_workers_means_these() -> None:
    kubernetes = DEPLOY / "kubernetes"
    worker = loaded(kubernetes / "worker.yaml")
    labels = worker["spec"]["template"]["metadata"]["labels"]
    assert worker["spec"]["selector"]["matchLabels"] == labels
    assert loaded(kubernetes / "disruption.yaml")["spec"]["selector"]["matchLabels"] == labels
    assert loaded(kubernetes / "network.yaml")["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    target = loaded(kubernetes / "autoscale.yaml")["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": worker["metadata"]["name"]}
    claims = {each["persistentVolumeClaim"]["claimName"] for each in pod("worker.yaml")["volumes"][:1]}
    assert claims == {loaded(kubernetes / "pages.yaml")["metadata"]["name"]}
