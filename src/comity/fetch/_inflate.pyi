"""A body in gzip, inflated in C; see `inflate_member` in `inflate.py`."""

FORMAT: int

def member(wire: bytes, size_most: int, /) -> bytes | None:
    """The body that is one plain member of gzip, whose checksum is still to be compared; None of any other."""
