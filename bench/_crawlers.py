"""The crawlers that bench/crawl compares: how each is started, and what a run of it cost.

All obey robots.txt, take gzip, use 64 requests at once and 16 a host where they can tell hosts apart, wait 0 s between
requests, keep every page, and follow links on the hosts of their seeds alone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from _site import pinned

HERE = Path(__file__).parent
PEERS = HERE / "results" / "peers"
RUN_S_MOST = 900.0
SAMPLE_S = 0.1
BUSY_LOAD = 0.7  # one-minute load average above which figures are not written
NOT_PAGES = ".png,.jpg,.webp,.css,.js"  # with dots: wget2 compares the end of the whole URL, also of a fragment
SERVER_ERRORS = 8  # wget2's exit code when an answer was an error, such as 404
NAMES = ("comity", "comity-text", "comity-markdown", "wget2", "scrapy-jobdir", "scrapy")


def refuse_if_busy() -> None:
    """End the script where its figures would say more about other programs."""
    load = os.getloadavg()[0]
    if load > BUSY_LOAD:
        raise SystemExit(
            f"The machine is busy (load average {load:.1f}): wait until it is quiet, or leave out --write."
        )


def comity_command(folder: Path, seeds: Path) -> list[str]:
    """Crawl everything, store everything, and leave a state that another run can continue."""
    comity = Path(sys.executable).parent / "comity"
    where = ["--seeds", str(seeds), "--state", str(folder / "state.db"), "--into", str(folder / "pages")]
    limits = ["--delay", "0", "--per-host", "16", "--concurrency", "64", "--max-pages", "0"]
    return [str(comity), "crawl", *where, *limits, "--allow-network", "127.0.0.0/8", "--json"]


def wget2_command(folder: Path, seeds: Path, authority: Path | None) -> list[str]:
    """A mirror as files, without any state."""
    where = ["-i", str(seeds), "-P", str(folder / "files")]
    plain = ["--no-config", "--no-hsts", "--robots=on", "--compression=gzip", f"--reject={NOT_PAGES}", "--filter-urls"]
    trust = [f"--ca-certificate={authority}"] if authority else []
    return ["wget2", "-q", "-r", "-l", "inf", "--max-threads=64", *plain, *trust, *where]


def command_of(name: str, folder: Path, seeds: Path, authority: Path | None) -> list[str]:
    """The command line of a crawler."""
    if name.startswith("comity"):
        return [*comity_command(folder, seeds), *(f"--{option}" for option in name.split("-")[1:])]
    if name == "wget2":
        return wget2_command(folder, seeds, authority)
    job = [str(folder / "job")] if name == "scrapy-jobdir" else []
    return [str(scrapy_python()), str(HERE / "_scrapy_spider.py"), str(seeds), str(folder), *job]


def scrapy_python() -> Path:
    """The interpreter of Scrapy's own environment, which is made once."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        shutil.rmtree(PEERS, ignore_errors=True)
        unfinished = PEERS.with_name("peers.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(unfinished)], check=True)
        subprocess.run([str(unfinished / "bin" / "python"), "-m", "pip", "install", "-q", "scrapy"], check=True)
        unfinished.rename(PEERS)
    return python


def missing(name: str) -> str | None:
    """Why a crawler cannot take part, as a sentence; None: it can."""
    if name == "wget2" and not shutil.which("wget2"):
        return "wget2 is left out: it is not installed (Debian, Ubuntu: apt install wget2)."
    if name.startswith("scrapy"):
        try:
            scrapy_python()
        except (OSError, subprocess.CalledProcessError) as problem:
            return f"{name} is left out: Scrapy could not be installed into {PEERS} ({problem})."
    return None


def version_of(name: str) -> str:
    """The version that a crawler states."""
    if name.startswith("scrapy"):
        command = [str(scrapy_python()), "-m", "scrapy", "version"]
    else:
        command = [str(Path(sys.executable).parent / "comity") if name.startswith("comity") else name, "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(\.\w+)+", text)
    return found[0] if found else "unknown"


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    seconds: float  # from the start of the program to its end
    cpu_s: float  # of the program and all its processes
    memory_mb: float  # the most that all its processes held at once


class MemoryWatch(threading.Thread):
    """Looks at the resident memory of a process and all below it until it is stopped.

    Pages that processes share count for each of them, so the sum is never too small.
    """

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.stopped = threading.Event()
        self.peak_kb = 0

    def run(self) -> None:
        """Sample at a steady pace."""
        while not self.stopped.wait(SAMPLE_S):
            tree = [resident_kb(number) for number in tree_of(self.process)]
            now_kb, one_kb = sum(now for now, _most in tree), max((most for _now, most in tree), default=0)
            self.peak_kb = max(self.peak_kb, now_kb, one_kb)


def tree_of(process: int) -> list[int]:
    """A process and its descendants."""
    found = [process]
    for number in found:  # grows while it is read
        try:
            threads = list(Path(f"/proc/{number}/task").iterdir())
            found += [int(child) for thread in threads for child in (thread / "children").read_text().split()]
        except OSError:
            continue  # it has ended
    return found


def resident_kb(process: int) -> tuple[int, int]:
    """The memory of a process now, and the most it had."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0, 0
    figures = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+)", text, re.MULTILINE))
    return int(figures.get("VmRSS", 0)), int(figures.get("VmHWM", 0))


class PeerCrashed(Exception):
    """Another crawler crashed, as wget2 does now and then: its run is repeated, ours never is."""


def run_crawler(name: str, folder: Path, seeds: Path, authority: Path | None) -> Cost:
    """Run a crawler to its end on the second core."""
    # As installed programs are run: with the byte code of the run before.
    left_out = ("pythondontwritebytecode", "http_proxy", "https_proxy", "all_proxy")
    environment = {key: value for key, value in os.environ.items() if key.lower() not in left_out}
    if authority:
        environment["SSL_CERT_FILE"] = str(authority)
    said = folder / "said.txt"
    command = command_of(name, folder, seeds, authority)
    with said.open("w") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            preexec_fn=pinned(1),
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
        watch = MemoryWatch(process.pid)
        watch.start()
        limit = threading.Timer(RUN_S_MOST, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        # Unlike getrusage, wait4 speaks of this run alone; it includes the processes that the crawler waited for.
        _pid, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        limit.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    watch.stopped.set()
    watch.join()
    if process.returncode < 0 and name != "comity":
        raise PeerCrashed(f"{name} was ended by signal {-process.returncode}")
    if process.returncode not in ((0, SERVER_ERRORS) if name == "wget2" else (0,)):
        raise SystemExit(f"{name} ended with {process.returncode}: {said.read_text()[-800:]}")
    return Cost(seconds, used.ru_utime + used.ru_stime, watch.peak_kb / 1024)
