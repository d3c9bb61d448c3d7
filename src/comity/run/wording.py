"""Numbers in sentences, for logs and for the command line."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 host`, `1,234 hosts`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
