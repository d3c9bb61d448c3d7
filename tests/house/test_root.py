"""The repository's root holds what belongs there, and nothing that was added by accident."""

from __future__ import annotations

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BELONGS = {
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "NOTICE",
    "README.md",
    "hatch_build.py",
    "pyproject.toml",
    "requirements-dev.lock",
    "requirements.lock",
}


def files_at_the_root() -> set[str]:
    """The tracked files; in an unpacked archive, which git does not know, all files."""
    if not (REPOSITORY / ".git").exists():
        return {path.name for path in REPOSITORY.iterdir() if path.is_file()}
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return {name for name in listed.stdout.split("\0") if name and "/" not in name}


def test_only_files_that_belong_there_are_at_the_root() -> None:
    assert files_at_the_root() == BELONGS, "a new file at the root goes into BELONGS, with a reason in the commit"
