"""The Makefile sets the environment up once, again whenever it must, and never by halves.

The set-up is driven with a pretended Python that notes what it is asked and builds a pretended environment, so that
every path is walked in moments and without an index.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTED = {"help", "run", "crawl", "test", "check", "bench", "screenshots", "lock", "clean"}
# It answers every question about itself with yes; what it is told to do, it writes down.
PRETENDED_PYTHON = """#!/bin/sh
case "$*" in
"-m venv "*)
    echo venv >>"$CALLS"
    sleep 0.1
    mkdir -p .venv/bin
    cp "$0" .venv/bin/python ;;
"-m pip "*--editable*)
    echo "install comity" >>"$CALLS"
    printf '#!/bin/sh\\nprintf "<%%s>" "$@"\\n' >.venv/bin/comity
    chmod +x .venv/bin/comity ;;
"-m pip "*)
    for word; do last=$word; done
    cp "$last" "$CALLS.${last##*/}"
    echo "install ${last##*/}" >>"$CALLS"
    [ ! -e interrupted ] ;;
--version)
    echo Python 3.11.99 ;;
esac
"""
USELESS_PYTHON = "#!/bin/sh\nexit 1\n"
IN_C = "src/comity/extract/_html_scan.c"
ENTRIES = ["one==1 \\\n    --hash=sha256:1\n    # via two\n", "two==2\n", "three==3\n"]
WHOLE_RUNTIME = ["venv", "install requirements.lock", "install comity"]


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Tree:
    """A folder with our Makefile and small locks, in which make can be run."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "a tree"
        self.calls_file = root / "calls"
        self.programs = root / "bin"
        self.folder.mkdir()
        shutil.copy(REPOSITORY / "Makefile", self.folder)
        (self.folder / "src/comity/extract").mkdir(parents=True)
        for name in ("requirements.lock", "requirements-dev.lock", "pyproject.toml", "hatch_build.py", IN_C):
            (self.folder / name).write_text(f"# {name}\n{''.join(ENTRIES) if name.endswith('.lock') else ''}")
        write_program(self.programs / "python3.11", PRETENDED_PYTHON)

    def environment(self) -> dict[str, str]:
        # A make above us would hand its flags and variables down.
        ours = {"CALLS": str(self.calls_file), "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"}
        hidden = {"ARGS", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "ONLY", "PYTHON", "UPGRADE", "URL"}
        return {name: value for name, value in os.environ.items() if name not in hidden} | ours

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = ["make", "-C", str(self.folder), "--no-print-directory", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.environment(), stdout=pipe, stderr=pipe, text=True)

    def make(self, *words: str) -> tuple[int, str, str]:
        """Run make and return its exit code, its output and its complaints."""
        with self.start(*words) as process:
            output, complaints = process.communicate(timeout=60)
        return process.returncode, output, complaints

    def calls_of(self, *words: str) -> list[str]:
        """Run make, which must succeed, and return what it made the pretended Python do."""
        self.calls_file.write_text("")
        code, _, complaints = self.make(*words)
        assert code == 0, complaints
        return self.calls()

    def calls(self) -> list[str]:
        """What the pretended Python did; two halves of a lock that were installed at once and are all of it, as one."""
        lines = self.calls_file.read_text().splitlines()
        found: list[str] = []
        while lines:
            line = lines.pop(0)
            if match := re.fullmatch(r"install half-([01])-of-(\S+)", line):
                which, lock = match.groups()
                assert lines.pop(0) == f"install half-{1 - int(which)}-of-{lock}"
                halves = "".join(Path(f"{self.calls_file}.half-{each}-of-{lock}").read_text() for each in (0, 1))
                entries = (self.folder / lock).read_text().partition("\n")[2]
                assert sorted(halves.splitlines()) == sorted(entries.splitlines())
                line = f"install {lock}"
            found.append(line)
        return found


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_help_is_the_default_and_lists_every_documented_target(tree: Tree) -> None:
    code, output, _ = tree.make()
    assert code == 0
    listed = re.findall(r"^  make (\S+)\s+\S", output, re.MULTILINE)
    assert set(listed) == DOCUMENTED
    assert len(listed) == len(DOCUMENTED)
    assert tree.make("help")[1] == output


def test_every_target_with_a_text_is_phony() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split())
    assert phony >= DOCUMENTED


def test_the_second_run_does_no_set_up(tree: Tree) -> None:
    assert tree.calls_of("runtime") == WHOLE_RUNTIME
    assert tree.calls_of("runtime") == []


def test_crawl_installs_the_runtime_only_and_test_everything(tree: Tree) -> None:
    assert tree.calls_of("crawl") == WHOLE_RUNTIME
    assert tree.calls_of("dev") == ["install requirements-dev.lock", "install comity"]


def test_the_development_environment_serves_the_runtime_too(tree: Tree) -> None:
    assert tree.calls_of("dev") == ["venv", "install requirements-dev.lock", "install comity"]
    assert tree.calls_of("runtime") == []


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml", IN_C])
def test_a_change_is_installed_without_starting_over(tree: Tree, name: str) -> None:
    tree.calls_of("runtime")
    path = tree.folder / name
    before = path.stat()
    path.write_text("# changed\n")
    os.utime(path, (before.st_atime, before.st_mtime))  # the content counts, not the date
    assert tree.calls_of("runtime") == ["install requirements.lock", "install comity"]
    assert tree.calls_of("runtime") == []


@pytest.mark.parametrize("half", [0, 1])
def test_a_set_up_of_which_one_half_fails_is_not_whole(tree: Tree, half: int) -> None:
    failing = f'"-m pip "*half-{half}-of-*) exit 1 ;;\n"-m pip "*--editable*)'
    write_program(tree.programs / "python3.11", PRETENDED_PYTHON.replace('"-m pip "*--editable*)', failing))
    assert tree.make("runtime")[0] != 0
    assert not (tree.folder / ".venv" / "stamp").exists()


@pytest.mark.parametrize("earlier", ["nothing", "an older lock"])
def test_an_interrupted_set_up_is_done_anew(tree: Tree, earlier: str) -> None:
    if earlier == "an older lock":
        tree.calls_of("runtime")
        (tree.folder / "requirements.lock").write_text("# changed\n")
    (tree.folder / "interrupted").touch()
    assert tree.make("runtime")[0] != 0
    (tree.folder / "interrupted").unlink()
    assert tree.calls_of("runtime") == WHOLE_RUNTIME


def test_each_half_of_a_lock_holds_whole_entries(tree: Tree) -> None:
    assert tree.calls_of("runtime") == WHOLE_RUNTIME
    halves = [Path(f"{tree.calls_file}.half-{each}-of-requirements.lock").read_text() for each in (1, 0)]
    assert halves == ["".join(ENTRIES[::2]), ENTRIES[1]]


def test_an_environment_without_its_interpreter_is_made_anew(tree: Tree) -> None:
    tree.calls_of("runtime")
    (tree.folder / ".venv" / "bin" / "python").unlink()
    (tree.folder / ".venv" / "bin" / "python").symlink_to("/nowhere/python3.11")
    assert tree.calls_of("runtime") == WHOLE_RUNTIME


def test_an_environment_from_another_folder_is_made_anew(tree: Tree) -> None:
    tree.calls_of("runtime")
    tree.folder = tree.folder.rename(tree.folder.with_name("another tree"))
    assert tree.calls_of("runtime") == WHOLE_RUNTIME


def test_several_makes_at_once_set_up_once(tree: Tree) -> None:
    makes = [tree.start("runtime") for _ in range(4)]
    for make in makes:
        _, complaints = make.communicate(timeout=60)
        assert make.returncode == 0, complaints
    assert tree.calls() == WHOLE_RUNTIME


def test_without_a_usable_python_one_line_says_what_to_install(tree: Tree) -> None:
    for name in ("python3.11", "python3.12", "python3.13", "python3"):
        write_program(tree.programs / name, USELESS_PYTHON)
    code, _, complaints = tree.make("crawl")
    assert code != 0
    ours = [line for line in complaints.splitlines() if line.startswith("comity: ")]
    assert len(ours) == 1
    assert "Python 3.11 or newer" in ours[0]
    assert "apt install python3 python3-venv" in ours[0]
    assert not (tree.folder / ".venv").exists()


def test_a_python_that_was_named_is_used_or_refused_by_name(tree: Tree) -> None:
    write_program(tree.programs / "useless", USELESS_PYTHON)
    write_program(tree.programs / "python3.11", USELESS_PYTHON)
    write_program(tree.programs / "special", PRETENDED_PYTHON)
    assert "PYTHON=useless cannot be used" in tree.make("runtime", "PYTHON=useless")[2]
    assert tree.calls_of("runtime", "PYTHON=special") == WHOLE_RUNTIME
    assert tree.calls_of("runtime", "PYTHON=special") == []
    assert tree.calls_of("runtime") == []


@pytest.mark.parametrize(
    "url", ["https://example.org/", "https://example.org/?a=1&b=$HOME", "https://example.org/it's,(here)#`x`"]
)
def test_a_url_reaches_the_command_as_it_was_written(tree: Tree, url: str) -> None:
    tree.calls_of("runtime")
    assert tree.make("crawl", f"URL={url}", "ARGS=--depth 2")[1] == f"<crawl><{url}><--depth><2>"


def test_run_starts_the_console(tree: Tree) -> None:
    assert tree.make("run", "ARGS=--port 0")[1].endswith("<serve><--port><0>")
    assert tree.calls_of("run") == []


def test_crawl_without_a_url_is_the_demonstration(tree: Tree) -> None:
    tree.calls_of("runtime")
    assert tree.make("crawl")[1] == "<demo>"


def test_clean_keeps_what_was_crawled(tree: Tree) -> None:
    tree.calls_of("runtime")
    for name in ("src", "tests", "bench", "comity-data"):
        (tree.folder / name / "__pycache__").mkdir(parents=True)
    assert tree.make("clean")[0] == 0
    left = {path.name for path in tree.folder.iterdir()}
    assert "comity-data" in left
    assert ".venv" not in left
    assert not (tree.folder / "src" / "__pycache__").exists()


def test_ci_does_what_a_developer_does() -> None:
    script = REPOSITORY / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"
