from collections.abc import Callable, Mapping

FORMAT: int

def main_text(
    body: bytes,
    start: int,
    references: dict[str, str],
    decode: Callable[[str], str | None],
    kinds: Mapping[str | None, int],
    kind_of: Callable[[str | None, str | None], int],
    is_note: Callable[[str | None, str | None], bool],
    /,
) -> str | None: ...
def may_name_content(body: bytes, /) -> bool: ...
