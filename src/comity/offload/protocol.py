"""What a parent and its child say to each other over their socket.

A request is a head (`REQUEST`) and its arguments; the body lies in shared memory at the offset that the head names. An
answer is any number of `PART` frames and one that ends it. Requests are answered in the order in which they were sent.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

REQUEST: Final = Struct("!IQQd")
"""Length of the arguments, offset and length of the body, seconds of processor time that the work may take."""
FRAME: Final = Struct("!BI")
"""What the frame is, and the length of what follows."""

READY: Final = 0
"""The child has started."""
PART: Final = 1
"""A piece of the answer."""
DONE: Final = 2
"""The last piece, behind the number of bytes that the child holds in memory (`RESIDENT`)."""
OUT_OF_MEMORY: Final = 3
"""The work needs more memory than the child may have."""

RESIDENT: Final = Struct("!Q")


def wall_seconds(seconds: float) -> float:
    """How long work may take by the clock if it may take some seconds of processor time.

    A child has a low priority: on a busy machine it waits for a core several times as long as it computes.
    """
    return max(5 * seconds, seconds + 30.0)


MAX_FRAME_BYTES: Final = 64 << 20
