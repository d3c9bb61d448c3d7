"""Chromium without a window, driven by its DevTools protocol over two pipes; nothing but the standard library.

`installed` finds it, or installs the Debian package where that is possible; where it is not, the test fails with a
sentence that says what to do.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

# Without windows it takes 30 % less of the processor. Not every release of Debian has it as a package.
PACKAGES: Final = ("chromium-headless-shell", "chromium")
NAMES: Final = (*PACKAGES, "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING: Final = (
    f"These tests need Chromium: install it (Debian: apt install {PACKAGES[0]}) or name it in COMITY_TEST_CHROMIUM."
)
_ANSWER_S: Final = 60.0
_INSTALL_S: Final = 600.0


def found() -> str | None:
    """The path of Chromium, if there is one."""
    named = os.environ.get("COMITY_TEST_CHROMIUM")
    if named:
        return named
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def installed() -> str:
    """The path of Chromium; as root on Debian it is installed, once for all test processes."""
    with (Path(tempfile.gettempdir()) / "comity-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = found()
        if path is not None:
            return path
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise RuntimeError(MISSING)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        said = []
        for package in PACKAGES:
            for words in (["update"], ["install", "--yes", "--no-install-recommends", package]):
                command = ["apt-get", *words]
                done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=_INSTALL_S)
            if (path := found()) is not None:
                return path
            said.append(f"`{' '.join(command)}` said: {done.stderr.strip()[-500:]}")
        raise RuntimeError("\n".join([MISSING, *said]))


class Tab:
    """One page in Chromium: what it asked for, what its console said."""

    def __init__(self, pipe: _Pipe, session: str) -> None:
        self._pipe, self._session = pipe, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        return self._pipe.ask(method, parameters, self._session)

    def open(self, path: Path, *, scripts: bool = True) -> float:
        """Open a file; returns when it is loaded, with how many seconds that took by the page's own clock."""
        self._pipe.events.clear()
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.send("Page.navigate", url=path.resolve().as_uri())
        self._pipe.until("Page.loadEventFired")
        if not scripts:
            return 0.0
        took = self.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        return float(took) / 1000

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "screen") -> None:
        """Set the size of the window, the colour scheme and the medium."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Write what is seen as PNG; or the whole page."""
        taken = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(taken["data"]))

    @property
    def requests(self) -> list[str]:
        """Every URL that the page asked for, itself first."""
        return [each["params"]["request"]["url"] for each in self._of("Network.requestWillBeSent")]

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and violations of the content security policy."""
        logged = [each["params"]["entry"]["text"] for each in self._of("Log.entryAdded")]
        thrown = [str(each["params"]["exceptionDetails"]) for each in self._of("Runtime.exceptionThrown")]
        said = [str(each["params"]["args"]) for each in self._of("Runtime.consoleAPICalled")]
        return [*logged, *thrown, *said]

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [each for each in self._pipe.events if each.get("method") == method]


class _Pipe:
    """Messages end with a NUL; answers carry the number of their question."""

    def __init__(self, reads: int, writes: int) -> None:
        self.events: list[dict[str, Any]] = []
        self._reads, self._writes = reads, writes
        self._rest = b""
        self._number = 0

    def ask(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
        raise AssertionError

    def until(self, method: str) -> None:
        """Wait for an event; it may have come already."""
        if any(each.get("method") == method for each in self.events):
            return
        for message in self._messages():
            if message.get("method") == method:
                return

    def _messages(self) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + _ANSWER_S
        while True:
            while b"\0" in self._rest:
                line, _, self._rest = self._rest.partition(b"\0")
                message = json.loads(line)
                if "id" not in message:
                    self.events.append(message)
                yield message
            left = end - time.monotonic()
            ready, _, _ = select.select([self._reads], [], [], max(left, 0))
            if not ready:
                raise TimeoutError(f"Chromium did not answer within {_ANSWER_S:.0f} s")
            more = os.read(self._reads, 1 << 20)
            if not more:
                raise ConnectionError("Chromium ended")
            self._rest += more


@contextmanager
def chromium_tab(folder: Path) -> Iterator[Tab]:
    """A Chromium of its own, with its files in a folder; it is ended with the block."""
    here_reads, there_writes = os.pipe()
    there_reads, here_writes = os.pipe()
    command = [
        *(installed(), "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
        *("--no-sandbox", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"),
    ]

    def take_pipes() -> None:
        # Chromium reads from descriptor 3 and writes to 4.
        reads, writes = os.dup(there_reads), os.dup(there_writes)
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    process = subprocess.Popen(
        command,
        preexec_fn=take_pipes,
        close_fds=False,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(there_reads)
    os.close(there_writes)
    try:
        pipe = _Pipe(here_reads, here_writes)
        target = pipe.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = pipe.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        yield Tab(pipe, session)
        with suppress(ConnectionError, TimeoutError, OSError):
            pipe.ask("Browser.close", {})
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own processes, too: they would still write into the folder
        process.wait(10)
        os.close(here_reads)
        os.close(here_writes)
