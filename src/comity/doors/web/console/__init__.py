"""The console: pages for browsers, on the same paths as the JSON API; docs/console-kit.md shows how to write one.

`page` renders templates, `tables`, `forms`, `plots` and `live` are the parts that pages are made of, `components` holds
the small ones. Pages parse and render: every query is in `reports`, every action in `operate`.
"""
