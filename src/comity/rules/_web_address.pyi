from collections.abc import Callable, Sequence, Set

from comity.rules.canonical import MetLinks, WebAddress

FORMAT: int

def fresh(hrefs: Sequence[str], met: set[str], without: Set[str], /) -> list[str]: ...
def resolve(
    hrefs: Sequence[str],
    base: str | None,
    hosts: dict[str, tuple[str, str]],
    tracking: tuple[frozenset[str], tuple[str, ...], frozenset[str]] | None,
    suffixes: frozenset[str] | None,
    address_type: type[WebAddress],
    digest: Callable[[bytes], int],
    met: MetLinks | None,
    /,
) -> list[WebAddress | str]: ...
