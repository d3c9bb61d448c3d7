"""The processes of `--processes` lose no test: what passes, fails, is skipped or ends its process is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNNER = """
from tests import forked

def pytest_runtestloop(session):
    forked.run(session, 2, most=2)
    return True
"""
FINE = """
import os, pytest

@pytest.fixture(scope="session")
def of_this_process():
    yield os.getpid()
    print("the fixture of the process has ended")

@pytest.mark.parametrize("number", range(5))
def test_number(number, of_this_process):
    assert of_this_process == os.getpid() != int(os.environ["PARENT"])
"""
FAILING = """
import pytest

def test_fails():
    print("what it printed")
    assert 1 == 2

def test_is_skipped():
    pytest.skip("not here")

@pytest.fixture
def breaking():
    yield
    raise ValueError("at the end")

def test_breaks_at_its_end(breaking):
    pass
"""


def run(folder: Path, files: dict[str, str], *options: str) -> tuple[int, str]:
    for name, content in {"conftest.py": RUNNER, **files}.items():
        (folder / name).write_text(content)
    parent = "import os, sys, pytest; os.environ['PARENT'] = str(os.getpid()); sys.exit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", parent, "-p", "no:cacheprovider", "-rA", "--rootdir", str(folder), *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COMITY_TEST_F"))}
    environment = {**kept, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, str(folder)], env=environment, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_everything_is_counted_and_printed_once(tmp_path: Path) -> None:
    code, said = run(tmp_path, {"test_fine.py": FINE, "test_failing.py": FAILING})
    assert code == 1, said
    assert "1 failed, 6 passed, 1 skipped, 1 error" in said
    assert said.count("Captured stdout call") == 1
    assert "what it printed" in said
    assert "ValueError: at the end" in said


def test_a_process_that_ends_fails_its_test_and_those_that_it_had_taken(tmp_path: Path) -> None:
    ending = "import os\n\ndef test_ends():\n    os._exit(3)\n\ndef test_follows():\n    pass\n"
    code, said = run(tmp_path, {"test_ending.py": ending, "test_fine.py": FINE})
    assert code == 1, said
    assert "the process of this test ended with 3" in said
    assert "this test was not run" in said
    assert "2 failed, 5 passed" in said


def test_the_first_failure_can_end_the_run(tmp_path: Path) -> None:
    slow = "import time, pytest\n\n@pytest.mark.parametrize('n', range(50))\ndef test_slow(n):\n    time.sleep(0.1)\n"
    code, said = run(tmp_path, {"test_fails.py": FAILING, "test_slow.py": slow}, "-x")
    assert code in (1, 2), said
    assert "stopping after" in said
    assert "1 failed" in said
    assert "50 passed" not in said, "what no process had taken is left"
