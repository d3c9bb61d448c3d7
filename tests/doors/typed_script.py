# mypy: disallow-any-generics, disallow-subclassing-any, disallow-untyped-calls, disallow-untyped-decorators
# mypy: disallow-untyped-defs, strict-equality, warn-return-any, warn-unused-ignores
"""The first script of docs/python.md, as `make check` sees it: what --strict asks, and the types that users get."""

from typing import assert_type

import comity

for page in comity.crawl("https://example.com/", max_pages=100):
    print(page.url, page.status, page.title, len(page.body))

assert_type(page, comity.Page)
assert_type(comity.crawl("a").summary.pages, int)
