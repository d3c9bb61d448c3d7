"""Many hosts at once: does a page cost more with 2,000 open hosts than with 50, and does each keep its connection?

    python bench/hosts.py [--hosts 50,500,2000] [--pages 20] [--delay 1] [--concurrency 64] [--plain] [--same-rate]

nginx serves every host on a loopback address of its own, over TLS with HTTP/2, and its access log says how many
connections it took: one for each host, if all are kept between two requests. A host gets a request each `--delay`
seconds. CPU is that of the crawler and its processes while the middle of the pages came, without start and end; the
last column is that of the whole run. At 2,000 hosts and 1 s the crawler is as busy as its core allows, at 50 hosts it
mostly sleeps: `--same-rate` gives fewer hosts a shorter delay, so that all sizes are equally busy.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _crawlers import MemoryWatch, tree_of
from _origin import nginx
from _site import CORES, build_pages, host_address, pinned

PORT = 18643
ON_A_CERTIFICATE = 25  # with more hosts on one, its size would be what is measured
START_S = 20.0
RUN_S_MOST = 600.0
TICKS_S = os.sysconf("SC_CLK_TCK")
CONFIGURATION = """
daemon off;
master_process off;
pid {work}/nginx.pid;
error_log {work}/error.log warn;
worker_rlimit_nofile 20000;
events {{ worker_connections 16384; }}
http {{
  log_format judge '$server_addr $status $connection $msec $request_uri';
  access_log {work}/access.log judge buffer=64k flush=100ms;
  client_body_temp_path {work}; proxy_temp_path {work}; fastcgi_temp_path {work};
  uwsgi_temp_path {work}; scgi_temp_path {work};
  keepalive_timeout 300s;
  keepalive_requests 100000000;
  gzip_static always;
  gunzip on;
  ssl_session_cache shared:tls:10m;
  types {{ }}
  default_type text/html;
  root {work}/www;
{servers}
}}
"""
SERVER = "  server {{ {listen} {tls} }}"
TLS = "ssl_certificate {work}/{group}.pem; ssl_certificate_key {work}/host.key;"


@dataclass(frozen=True)
class Figures:
    """What one run took."""

    hosts: int
    delay_s: float
    pages_per_s: float  # while the middle of the pages came
    cpu_ms: float  # a page, over the same time
    whole_cpu_ms: float  # a page, with start and end
    memory_mb: float
    connections: int
    pages: int


def write_pages(work: Path, made: dict[bytes, bytes]) -> None:
    """The pages of every host: they are the same on all, which this question does not care about."""
    for path, response in made.items():
        if path == b"/":
            continue
        file = work / "www" / path.decode().lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        body = response.partition(b"\r\n\r\n")[2]
        if path == b"/robots.txt":
            body = gzip.compress(body)
        file.with_name(file.name + ".gz").write_bytes(body)


def certify(work: Path, hosts: int) -> Path:
    """An authority for this run alone, and certificates of it for groups of hosts."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=work, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-days", "7", "-subj", "/CN=bench authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *key, "-subj", "/CN=bench", "-keyout", "host.key", "-out", "host.csr")
    for group, first in enumerate(range(0, hosts, ON_A_CERTIFICATE)):
        names = ",".join(f"IP:{host_address(n)}" for n in range(first, min(first + ON_A_CERTIFICATE, hosts)))
        (work / "names").write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "7", "-extfile", "names")
        openssl("x509", "-req", "-in", "host.csr", *signed, "-out", f"{group}.pem")
    return work / "ca.pem"


@contextmanager
def origin(
    work: Path, hosts: int, made: dict[bytes, bytes], *, plain: bool, cores: set[int]
) -> Iterator[tuple[Path, int]]:
    """nginx on some cores; gives its access log and its process."""
    program = nginx()
    if program is None:
        raise SystemExit("nginx is not installed (Debian, Ubuntu: apt install nginx-light).")
    write_pages(work, made)
    servers = []
    for group, first in enumerate(range(0, hosts, ON_A_CERTIFICATE)):
        numbers = range(first, min(first + ON_A_CERTIFICATE, hosts))
        listen = " ".join(f"listen {host_address(n)}:{PORT}{'' if plain else ' ssl http2'};" for n in numbers)
        servers.append(SERVER.format(listen=listen, tls="" if plain else TLS.format(work=work, group=group)))
    (work / "nginx.conf").write_text(CONFIGURATION.format(work=work, servers="\n".join(servers)))
    command = [program, "-e", str(work / "error.log"), "-c", str(work / "nginx.conf")]
    process = subprocess.Popen(command, preexec_fn=lambda: os.sched_setaffinity(0, cores), stderr=subprocess.PIPE)
    log, until = work / "access.log", time.monotonic() + START_S
    try:
        while not log.exists():
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"nginx does not start: {(work / 'error.log').read_text()[-600:]}")
            time.sleep(0.05)
        yield log, process.pid
    finally:
        process.terminate()
        process.wait(15)


def cpu_of(process: int) -> float:
    """Seconds of CPU of a process, those below it and those that it has waited for."""
    ticks = 0
    for number in tree_of(process):
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15] if number == process else fields[11:13]))
    return ticks / TICKS_S


def measure(hosts: int, pages: int, delay_s: float, concurrency: int, *, plain: bool) -> Figures:
    """One crawl of so many hosts."""
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
        work = Path(text)
        authority = certify(work, hosts)
        seeds, scheme = work / "seeds.txt", "http" if plain else "https"
        seeds.write_text("".join(f"{scheme}://{host_address(n)}:{PORT}/p/0\n" for n in range(hosts)))
        command = [str(Path(sys.executable).parent / "comity"), "crawl", "--seeds", str(seeds), "--delay", str(delay_s)]
        command += ["--state", str(work / "state.db"), "--into", str(work / "pages"), "--json", "--max-pages", "0"]
        command += ["--allow-network", "127.0.0.0/8", "--concurrency", str(concurrency), "--no-sitemaps"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["SSL_CERT_FILE"] = str(authority)
        said, errors = work / "said.txt", work / "errors.txt"
        served = origin(work, hosts, build_pages(pages), plain=plain, cores={CORES[0]})
        with served as (log, _nginx), said.open("w") as out, errors.open("w") as err:
            crawl = subprocess.Popen(command, stdout=out, stderr=err, env=environment, preexec_fn=pinned(1))
            limit = threading.Timer(RUN_S_MOST, crawl.kill)
            limit.start()
            watch = MemoryWatch(crawl.pid)
            watch.start()
            marks = _middle(log, crawl, hosts * pages)
            _pid, status, used = os.wait4(crawl.pid, 0)
            crawl.returncode = os.waitstatus_to_exitcode(status)
            limit.cancel()
            watch.stopped.set()
            watch.join()
            time.sleep(0.3)  # until the log is flushed
            seen, connections = _judge(log)
        if crawl.returncode:
            raise SystemExit(errors.read_text()[-800:])
        summary = json.loads(said.read_text())["summary"]
        if seen != hosts * pages or summary["pages"] != seen:
            raise SystemExit(f"not every page once: {seen} and {summary['pages']} of {hosts * pages}")
    (first_at, first_cpu_s, first_count), (last_at, last_cpu_s, last_count) = marks
    middle = last_count - first_count
    whole_s = used.ru_utime + used.ru_stime
    return Figures(
        hosts,
        delay_s,
        middle / (last_at - first_at),
        (last_cpu_s - first_cpu_s) / middle * 1000,
        whole_s / seen * 1000,
        watch.peak_kb / 1024,
        connections,
        seen,
    )


def _middle(log: Path, crawl: subprocess.Popen[bytes], pages: int) -> list[tuple[float, float, int]]:
    """Time, CPU and pages so far when a third and when four fifths of the pages had come."""
    marks: list[tuple[float, float, int]] = []
    count = 0
    with log.open("rb") as lines:
        while len(marks) < 2:
            if Path(f"/proc/{crawl.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                raise SystemExit("the crawl ended early")
            count += lines.read().count(b" /p/")
            if count >= pages * (0.33, 0.8)[len(marks)]:
                marks.append((time.monotonic(), cpu_of(crawl.pid), count))
            time.sleep(0.1)
    return marks


def _judge(log: Path) -> tuple[int, int]:
    """Pages that were served, and connections."""
    served, connections = set(), set()
    for line in log.read_text().splitlines():
        address, status, connection, _at, target = line.split(" ", 4)
        connections.add(connection)
        if status == "200" and target.startswith("/p/"):
            if (address, target) in served:
                raise SystemExit(f"served twice: {address}{target}")
            served.add((address, target))
    return len(served), len(connections)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", default="50,500,2000")
    options.add_argument("--pages", type=int, default=20)
    options.add_argument("--delay", type=float, default=1.0)
    options.add_argument("--concurrency", type=int, default=64)
    options.add_argument("--plain", action="store_true", help="HTTP/1.1 without TLS")
    options.add_argument("--same-rate", action="store_true", help="the delay is for the most hosts, others get less")
    chosen = options.parse_args()
    sizes = [int(size) for size in chosen.hosts.split(",")]
    if shutil.which("openssl") is None:
        raise SystemExit("openssl is not installed.")
    print(f"{'hosts':>6}{'delay s':>9}{'pages/s':>9}{'CPU ms':>8}{'whole':>7}{'MB':>6}{'connections':>13}{'pages':>8}")
    for hosts in sizes:
        delay_s = chosen.delay * hosts / max(sizes) if chosen.same_rate else chosen.delay
        pages = chosen.pages * max(sizes) // hosts if chosen.same_rate else chosen.pages
        each = measure(hosts, pages, delay_s, chosen.concurrency, plain=chosen.plain)
        print(
            f"{each.hosts:>6}{each.delay_s:>9.3f}{each.pages_per_s:>9.0f}{each.cpu_ms:>8.2f}{each.whole_cpu_ms:>7.2f}"
            f"{each.memory_mb:>6.0f}{each.connections:>13,}{each.pages:>8,}",
            flush=True,
        )


if __name__ == "__main__":
    main()
