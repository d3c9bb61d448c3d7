"""The server of the webs that bench/crawl crawls, and the judge: its access log says what each crawler did.

nginx serves the files of a web on one loopback address for each host, over HTTP/1.1 or over TLS with HTTP/2. Where it
is not installed, a small server in Python serves the same files from memory, slower and without TLS; it runs as a
process of its own: `python bench/_origin.py WWW PORT LOG`.
"""

from __future__ import annotations

import asyncio
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast
from urllib.parse import unquote

from _site import host_address, pinned
from _web import Web

NGINX_MISSING = (
    "nginx is not installed (Debian, Ubuntu: apt install nginx-light): a server in Python takes its place, and the "
    "faster crawlers will wait for it. Do not compare these figures with others."
)
START_S = 15.0
CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_rlimit_nofile {files};
events {{ worker_connections 8192; }}
http {{
  access_log off;
  log_format judge '$server_addr $status $connection $server_protocol $request_uri';
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 300s;
  keepalive_requests 100000000;
  gzip_static always;
  gunzip on;
  etag on;
  charset utf-8;
  types {{ }}
  default_type text/html;
  {tls}
  server {{
    {listen}
    access_log {folder}/access.log judge buffer=1m;
    root {www}/$server_addr;
    location = /robots.txt {{ types {{ }} default_type text/plain; }}
    location / {{ try_files $uri$is_args$args ${{uri}}index.html =404; }}
  }}
}}
"""


@dataclass(frozen=True)
class Seen:
    """What the access log says about one crawl."""

    pages: int  # distinct pages of the web that were served
    repeats: int  # requests for a page that had been served before
    other: int  # requests for what is no page: robots.txt left aside
    forbidden: int  # requests that robots.txt forbids
    connections: int
    protocols: str


def judge(log: Path, pages: set[str]) -> Seen:
    """Read the log of one crawl; `pages` are the addresses of the web, without their encoding."""
    served: Counter[str] = Counter()
    connections: set[str] = set()
    protocols: Counter[str] = Counter()
    other = forbidden = 0
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            address, status, connection, protocol, target = line.rstrip("\n").split(" ", 4)
            connections.add(connection)
            protocols[protocol] += 1
            name, mark, query = target.partition("?")
            page = address + unquote(name) + mark + query
            if page in pages:
                served[page] += status == "200"
            elif target != "/robots.txt":
                other += 1
                forbidden += target.startswith(("/private/", "/search"))
    found = sum(1 for count in served.values() if count)
    spoken = ", ".join(name for name, _count in protocols.most_common())
    return Seen(found, sum(served.values()) - found, other, forbidden, len(connections), spoken)


def pages_of(folder: Path) -> set[str]:
    """The addresses of a web's pages as `judge` compares them, from its files."""
    found = set()
    for root in (folder / "www").iterdir():
        for file in root.rglob("*.gz"):
            name = file.relative_to(root).as_posix().removesuffix(".gz")
            found.add(f"{root.name}/{name.removesuffix('index.html') if name.endswith('/index.html') else name}")
            if name == "index.html":
                found.add(f"{root.name}/")
        found -= {f"{root.name}/robots.txt", f"{root.name}/index.html"}
    return found


class Origin:
    """A running server of one web, on a core of its own."""

    def __init__(self, web: Web, folder: Path, work: Path) -> None:
        self.log = work / "access.log"
        self.pages = pages_of(folder)
        self.authority: Path | None = None  # the certificate that vouches for the hosts
        if any(listening(web)):
            raise SystemExit(f"Port {web.port} is in use: another run of this script may be under way.")
        program = nginx()
        self.kind = "nginx" if program else "The server in Python"
        if program:
            if web.scheme == "https":
                self.authority = certify(web, work)
            command = [program, "-e", str(work / "error.log"), "-c", str(configure(web, folder, work))]
        elif web.scheme == "https":
            raise SystemExit("TLS needs nginx, which is not installed (Debian, Ubuntu: apt install nginx-light).")
        else:
            command = [sys.executable, __file__, str(folder / "www"), str(web.port), str(self.log)]
        self.errors = work / "origin-errors.txt"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(command, preexec_fn=pinned(0), stderr=errors)
        self._wait_for(lambda: self.log.exists() and all(listening(web)))

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + START_S
        while not condition():
            if self.process.poll() is not None or time.monotonic() > until:
                self.process.kill()
                raise SystemExit(f"{self.kind} does not answer: {self.errors.read_text()[-600:]}")
            time.sleep(0.02)

    def seen(self) -> Seen:
        """What was asked for since the call before; starts a new log."""
        finished = self.log.with_suffix(".finished")
        self.log.rename(finished)
        # Both servers write what they hold back to the old log before they open the new one.
        self.process.send_signal(signal.SIGUSR1)
        self._wait_for(self.log.exists)
        return judge(finished, self.pages)

    def close(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(15)


def listening(web: Web) -> list[bool]:
    """Which hosts take connections."""
    found = []
    for number in range(web.hosts):
        with socket.socket() as probe:
            probe.settimeout(1.0)
            found.append(probe.connect_ex((host_address(number), web.port)) == 0)
    return found


def nginx() -> str | None:
    """The program, which Debian installs where only root's path leads."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def configure(web: Web, folder: Path, work: Path) -> Path:
    """Write nginx's configuration."""
    secure = web.scheme == "https"
    tls = f"ssl_certificate {work}/host.pem; ssl_certificate_key {work}/host.key; ssl_session_cache shared:tls:10m;"
    listen = [f"listen {web.authority(n)} backlog=1024{' ssl http2' if secure else ''};" for n in range(web.hosts)]
    file = work / "nginx.conf"
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    text = CONFIGURATION.format(
        folder=work,
        www=folder / "www",
        tls=tls if secure else "",
        listen="\n    ".join(listen),
        files=min(most_files, 65_536) if most_files > 0 else 65_536,
    )
    file.write_text(text)
    return file


def certify(web: Web, work: Path) -> Path:
    """Make an authority for this run alone, and a certificate of it for every host."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=work, check=True, capture_output=True)

    names = ",".join(f"IP:{web.authority(n).partition(':')[0]}" for n in range(web.hosts))
    (work / "names").write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-days", "7", "-subj", "/CN=bench authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *key, "-subj", "/CN=bench", "-keyout", "host.key", "-out", "host.csr")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "7", "-extfile", "names")
    openssl("x509", "-req", "-in", "host.csr", *signed, "-out", "host.pem")
    return work / "ca.pem"


class Answering(asyncio.Protocol):
    """The server that takes nginx's place."""

    answers: ClassVar[dict[str, bytes]] = {}
    lines: ClassVar[list[str]] = []
    connections: ClassVar[int] = 0
    missing: ClassVar[bytes] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self.address = transport.get_extra_info("sockname")[0]
        self.rest = b""
        Answering.connections += 1
        self.number = Answering.connections

    def data_received(self, data: bytes) -> None:
        *heads, self.rest = (self.rest + data).split(b"\r\n\r\n")
        for head in heads:
            target = head.split(b" ", 2)[1].decode()
            name, mark, query = target.partition("?")
            answer = Answering.answers.get(self.address + unquote(name) + mark + query)
            Answering.lines.append(f"{self.address} {200 if answer else 404} {self.number} HTTP/1.1 {target}\n")
            self.transport.write(answer or self.missing)


def read_answers(www: Path) -> dict[str, bytes]:
    """The whole response of every page of a web, and of each host's robots.txt."""
    found = {}
    for page in pages_of(www.parent) | {f"{root.name}/robots.txt" for root in www.iterdir()}:
        body = (www / (page + ("index.html.gz" if page.endswith("/") else ".gz"))).read_bytes()
        kind = "text/plain" if page.endswith("/robots.txt") else "text/html; charset=utf-8"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}"
        found[page] = f"{head}\r\n\r\n".encode() + body
    return found


async def serve(addresses: list[str], port: int, log: Path) -> None:
    """Answer until the process is ended; SIGUSR1 hands the log over."""
    loop = asyncio.get_running_loop()
    for address in addresses:
        await loop.create_server(Answering, address, port, backlog=1024)

    def hand_over() -> None:
        log.with_suffix(".finished").write_text("".join(Answering.lines))
        Answering.lines.clear()
        log.touch()

    loop.add_signal_handler(signal.SIGUSR1, hand_over)
    hand_over()
    await asyncio.Event().wait()


if __name__ == "__main__":
    import uvloop

    folder = Path(sys.argv[1])
    Answering.answers = read_answers(folder)
    uvloop.run(serve([root.name for root in folder.iterdir()], int(sys.argv[2]), Path(sys.argv[3])))
