"""The child process that reads stored pages: a question as JSON in, its answer as JSON out."""

import json
from collections.abc import Iterator
from typing import Final

from comity.offload.child import main
from comity.run.stored_pages.questions import answer

_PIECE_BYTES: Final = 1 << 20


def read(arguments: bytes, _body: bytes) -> Iterator[bytes]:
    """Answer one question, in pieces."""
    said = json.dumps(answer(json.loads(arguments)), ensure_ascii=False).encode("utf-8", "replace")
    for start in range(0, len(said), _PIECE_BYTES):
        yield said[start : start + _PIECE_BYTES]


if __name__ == "__main__":
    main(read)
