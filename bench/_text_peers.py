"""The peers of bench/text: pages as JSON enter on stdin, what each peer finds and takes leaves on stdout.

Run by the interpreter of an environment that has them. Both read the page as text, without its encoding to guess;
trafilatura as it is by default, but without comments, which are not in the labels.
"""

from __future__ import annotations

import json
import logging
import sys
import time

import trafilatura
from resiliparse.extract.html2text import extract_plain_text

logging.disable()


def by_trafilatura(markup: str) -> str:
    return trafilatura.extract(markup, include_comments=False) or ""


def by_resiliparse(markup: str) -> str:
    return extract_plain_text(markup, main_content=True) or ""


def main() -> None:
    asked = json.load(sys.stdin)
    answer = {}
    for name, read in (("trafilatura", by_trafilatura), ("resiliparse", by_resiliparse)):
        found = {page: read(markup) for page, markup in asked["pages"]}
        best = float("inf")
        for _round in range(asked["repeat"]):
            began = time.process_time()
            for _page, markup in asked["pages"]:
                read(markup)
            best = min(best, time.process_time() - began)
        answer[name] = {"found": found, "ms": 1000 * best / len(asked["pages"])}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
