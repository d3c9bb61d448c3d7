"""The head of a response, read in C; see `head.py`."""

FORMAT: int

def plain_head(lines: list[bytes], lines_most: int, bytes_most: int, /) -> tuple[str, int, dict[str, str]] | None:
    """Version, status and fields of an ordinary head; None of any other."""
