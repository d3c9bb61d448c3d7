"""The `comity` command, also as `python -m comity`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run one command; returns its exit code.

    Until its modules are loaded, Ctrl-C ends the process as the system does it: Python would print a traceback.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from comity.doors.cli.main import run

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    return run()


if __name__ == "__main__":
    sys.exit(main())
