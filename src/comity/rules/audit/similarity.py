"""How alike two texts are: a hash of 64 bits for each text, and groups of texts whose hashes differ in few bits.

The hash is a min-wise one (Broder 1997) of pairs of neighbouring words. It takes one bit for each of 64 samples, by
one-permutation hashing: every pair is hashed once and falls into one of 64 bins, and a bin's smallest hash gives the
bit. Two texts that share the fraction J of all their pairs differ in about 32 · (1 - J) bits. A simhash (Manku 2007)
of the same length differs in 64 · arccos(s) / π bits, which grows steeply where texts are nearly equal: on pages of
150 words with five changed, it did not separate them from pages that share two thirds of their text.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, pairwise
from typing import Final, TypeVar

from xxhash import xxh3_64_intdigest

BITS: Final = 64
MAX_WORDS: Final = 50_000
"""A longer text is judged by its beginning."""
NEAR_BITS: Final = 8
"""Hashes that differ in up to this many bits are near-duplicates. With 32 · (1 - J), eight bits are pairs of words of
which three quarters are shared: about one word in fourteen was changed."""

_BIN_SHIFT: Final = 58  # the upper six bits of a hash choose its bin
_BITS_TO_BORROW: Final = 50  # an empty bin borrows another bit of the next full bin, so that both stay independent
# Eight differing bits leave one of nine blocks untouched: only texts that share a block are compared.
_BLOCK_BITS: Final = 7
_BLOCKS: Final = tuple((BITS * number // (NEAR_BITS + 1), _BLOCK_BITS) for number in range(NEAR_BITS + 1))
_MAX_COMPARED: Final = 512
"""Groups that a text is compared with for each block: a site made to collide costs no more."""

Key = TypeVar("Key")


def similarity_of(words: Iterable[str]) -> int:
    """The similarity hash of a text; 0 for a text without words. Case does not matter."""
    text = " ".join(" ".join(islice(words, MAX_WORDS)).casefold().split())
    if not text:
        return 0
    taken = text.encode("utf-8", "surrogatepass").split(b" ")
    pairs = pairwise(taken) if len(taken) > 1 else [(taken[0], b"")]
    hashes = sorted({xxh3_64_intdigest(b"%b %b" % (first, second)) for first, second in pairs}, reverse=True)
    smallest = {each >> _BIN_SHIFT: each for each in hashes}  # the last one stays: the smallest of its bin
    found = 0
    for number in range(BITS):
        for distance in range(BITS):
            each = smallest.get((number + distance) % BITS)
            if each is not None:
                found |= (each >> (distance % _BITS_TO_BORROW) & 1) << number
                break
    return found


def distance(one: int, other: int) -> int:
    """In how many bits two hashes differ."""
    return (one ^ other).bit_count()


def near_duplicates(hashed: Iterable[tuple[Key, int]], near_bits: int = NEAR_BITS) -> list[list[Key]]:
    """Groups of two or more whose hashes are near the hash of the group's first; each key is in one group at most.

    A text joins the first group that it is near to, so a chain of small changes makes no group of unlike texts. Texts
    are compared only where a block of their hashes is equal, and with a bounded number of groups.
    """
    if not 0 <= near_bits <= NEAR_BITS:
        raise ValueError(f"near_bits is 0 to {NEAR_BITS}, not {near_bits}")
    groups: list[list[Key]] = []
    firsts: list[int] = []
    by_block: dict[tuple[int, int], list[int]] = {}
    for key, value in hashed:
        found = _near_group(value, near_bits, firsts, by_block)
        if found is not None:
            groups[found].append(key)
            continue
        for block in _blocks(value):
            by_block.setdefault(block, []).append(len(groups))
        groups.append([key])
        firsts.append(value)
    return [group for group in groups if len(group) > 1]


def _blocks(value: int) -> list[tuple[int, int]]:
    return [(start, value >> start & (1 << bits) - 1) for start, bits in _BLOCKS]


def _near_group(
    value: int, near_bits: int, firsts: list[int], by_block: dict[tuple[int, int], list[int]]
) -> int | None:
    """The earliest group whose first hash is near to this one."""
    best: int | None = None
    for block in _blocks(value):
        for group in by_block.get(block, ())[:_MAX_COMPARED]:
            if best is not None and group >= best:
                break
            if (firsts[group] ^ value).bit_count() <= near_bits:
                best = group
                break
    return best
