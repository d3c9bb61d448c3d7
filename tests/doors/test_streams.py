"""Standard streams that are closed, and a stop signal that arrives twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.doors.command_line import clean_environment
from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.site import Web, tree

_START = "import sys; from comity.__main__ import main; sys.exit(main())"


def _in_shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of the shell, in which `$comity` stands for the command."""
    program = f"'{sys.executable}' -c '{_START}'"
    environment = clean_environment() | {"COMITY_ALLOW_NETWORKS": "127.0.0.0/8"}
    del environment["COMITY_CONTACT"]
    return subprocess.run(
        ["/bin/sh", "-c", command.replace("$comity", program)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_remark_does_not_go_to_stdout_if_stderr_is_closed(web: Web, tmp_path: Path) -> None:
    site = web.site(tree(3))
    done = _in_shell(tmp_path, f"$comity crawl {site.url()} --delay 0 2>&-")
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "This run"), "no warning about the contact"


def test_closed_stdin_is_one_sentence(tmp_path: Path) -> None:
    for command in ("crawl --seeds -", "seeds load -"):
        done = _in_shell(tmp_path, f"$comity {command} <&-")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "comity: stdin is closed; name a file, or pipe the input into the command\n"


def test_sigterm_that_arrives_twice_is_one_request_to_stop(web: Web, place: Place) -> None:
    """`timeout` sends it to the process and to its process group."""
    site = web.site(tree(40))
    with place.begun("crawl", site.url(), "--delay", 0.4) as process:
        wait_until(lambda: len(site.log) > 3, 60, "some pages")
        process.send(signal.SIGTERM)
        process.send(signal.SIGTERM)
        assert process.wait(60) == 130
        assert "exiting at once" not in process.err
    assert place.host(site.host)["claimed_by"] is None, "the host was released"


def test_ctrl_c_while_modules_are_loaded_shows_no_traceback(tmp_path: Path) -> None:
    slow = "import os, signal, sys; from comity import __main__ as entry\n"
    slow += "class Slow:\n"
    slow += "    def find_spec(self, name, path=None, target=None):\n"
    slow += "        if name == 'comity.doors.cli.main': os.kill(os.getpid(), signal.SIGINT)\n"
    slow += "sys.meta_path.insert(0, Slow())\n"
    slow += "signal.signal(signal.SIGINT, signal.default_int_handler); entry.main()\n"
    done = subprocess.run(
        [sys.executable, "-c", slow], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
