"""The process in which large pages are read: requests enter at standard input, answers leave at standard output.

A request is its lengths and time limit, then the asker's words, then the body. An answer is a few frames: links in
batches, then the rest of the page, or one word where memory ran out. The end of the input ends the process, so none
outlives the crawler that started it.
"""

import marshal
import os
import resource
import signal
import sys
from contextlib import suppress
from struct import Struct
from typing import Any, BinaryIO, Final

from comity.extract.html import read_html
from comity.model.page import HtmlPage

REQUEST: Final = Struct("!IId")
"""Octets of the words, octets of the body, seconds that the page may take."""
FRAME: Final = Struct("!I")
LINKS_IN_FRAME: Final = 500
OUT_OF_MEMORY: Final = "out of memory"

# Ten megabytes of the least thrifty flat markup take 0.55 GB of addresses; what asks for more is made to.
_MAX_ADDRESS_BYTES: Final = 1 << 30
# The asker ends a slow page itself; this is for a page whose asker died.
_GRACE_SECONDS: Final = 2.0
_NICENESS: Final = 5
_IN_BATCHES: Final = ("links", "nofollow")


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer page after page, until nobody asks any more."""
    _put(answers, None)  # ready: starting takes no page's time
    while len(head := requests.read(REQUEST.size)) == REQUEST.size:
        words_length, body_length, seconds = REQUEST.unpack(head)
        # No handler: the signal ends the process even in the midst of a parse.
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_SECONDS)
        words = marshal.loads(requests.read(words_length))  # noqa: S302 - our own parent's
        try:
            _answer(answers, read_html(requests.read(body_length), **words))
        except MemoryError:
            _put(answers, OUT_OF_MEMORY)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(answers: BinaryIO, page: HtmlPage) -> None:
    for start in range(0, len(page.links), LINKS_IN_FRAME):
        batch = page.links[start : start + LINKS_IN_FRAME]
        _put(answers, (batch, bytes(href in page.nofollow for href in batch)))
    rest = {name: value for name, value in page._asdict().items() if name not in _IN_BATCHES}
    rest["limits"] = [limit.value for limit in page.limits]
    _put(answers, rest | {"resident_bytes": _resident_bytes()})


def _put(answers: BinaryIO, value: Any) -> None:
    frame = marshal.dumps(value)
    answers.write(FRAME.pack(len(frame)))
    answers.write(frame)
    answers.flush()


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0  # not Linux: the asker goes by what it sent


def main() -> None:
    """Take a low rank and a bound on memory, then serve."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICENESS)
    with suppress(ValueError, OSError):  # a system that knows no such bound, or has a lower one
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_ADDRESS_BYTES, _MAX_ADDRESS_BYTES))
    with suppress(BrokenPipeError):  # nobody listens: the same as the end of the input
        serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
