from collections.abc import Callable, Sequence

from comity.rules.canonical import WebAddress

FORMAT: int

def resolve(
    hrefs: Sequence[str],
    place: tuple[str, str] | None,
    folder: str | None,
    hosts: dict[str, tuple[str, str]],
    drops_tracking: bool,
    address_type: type[WebAddress],
    digest: Callable[[bytes], int],
    /,
) -> list[WebAddress | None]: ...
