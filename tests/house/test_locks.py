"""The lock files hold every dependency with its hashes, agree with each other, and name no index."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[2]
RUNTIME, DEVELOPMENT = "requirements.lock", "requirements-dev.lock"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>.*)$")


def read_lock(name: str) -> dict[str, str]:
    """The pins of a lock file: canonical name to version."""
    lines = (REPOSITORY / name).read_text().splitlines()
    pins = [match for line in lines if (match := PIN.match(line))]
    return {canonicalize_name(pin["name"]): pin["version"] for pin in pins}


def group(name: str) -> list[str]:
    """A dependency group's requirements, with the groups it includes (PEP 735)."""
    wanted: list[str] = []
    for entry in PROJECT["dependency-groups"][name]:
        wanted += [entry] if isinstance(entry, str) else group(entry["include-group"])
    return wanted


def runtime_requirements() -> list[str]:
    return [*PROJECT["project"]["dependencies"], *group("build"), *PROJECT["build-system"]["requires"]]


def development_requirements() -> list[str]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    return [*runtime_requirements(), *group("dev"), *(each for extra in extras for each in extra)]


@pytest.mark.parametrize("lock", [RUNTIME, DEVELOPMENT])
def test_a_lock_names_no_index_and_no_place(lock: str) -> None:
    text = (REPOSITORY / lock).read_text()
    for address in ("://", "file:", "--index-url", "--extra-index-url", "--find-links", " @ "):
        assert address not in text, f"{lock} holds {address!r}"


@pytest.mark.parametrize("lock", [RUNTIME, DEVELOPMENT])
def test_a_lock_holds_only_pins_with_hashes(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", (REPOSITORY / lock).read_text().strip())
    heads = {entry.partition("\\")[0].strip() for entry in entries}
    assert len(entries) == len(heads)  # a package with two pins has them for different versions of Python
    assert len(heads) >= len(read_lock(lock)) > 10
    for entry in entries:
        assert PIN.match(entry.splitlines()[0]), entry[:80]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry[:80]


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [(RUNTIME, runtime_requirements()), (DEVELOPMENT, development_requirements())],
    ids=[RUNTIME, DEVELOPMENT],
)
def test_a_lock_holds_every_dependency_in_a_version_that_was_asked_for(lock: str, requirements: list[str]) -> None:
    pins = read_lock(lock)
    for requirement in map(Requirement, requirements):
        version = pins.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is missing in {lock}: run `make lock`"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} but {version} in {lock}"


def test_the_development_lock_holds_the_runtime_lock() -> None:
    assert read_lock(RUNTIME).items() <= read_lock(DEVELOPMENT).items()


def test_the_development_lock_holds_all_that_its_packages_need() -> None:
    """The set-up installs what a lock names and looks for nothing else."""
    pins = read_lock(DEVELOPMENT)
    wanted = [Requirement(each) for each in development_requirements()]
    seen: set[tuple[str, str]] = set()
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) in seen or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
                continue
            seen.add((name, extra))
            assert name in pins, f"{name} is not locked"
            assert requirement.specifier.contains(version(name), prereleases=True), str(requirement)
            needed = [Requirement(each) for each in requires(name) or []]
            wanted += [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
    assert len({name for name, _ in seen}) > 100
