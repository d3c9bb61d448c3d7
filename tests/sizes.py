"""How large tests are: small by default; `COMITY_TEST_LONG=1` runs every size in full, which takes much longer."""

from __future__ import annotations

import os
from typing import TypeVar

Size = TypeVar("Size")

LONG = os.environ.get("COMITY_TEST_LONG", "") not in ("", "0")


def sized(short: Size, long: Size) -> Size:
    """The size to use: the second one only in a long run."""
    return long if LONG else short
