"""Word tables by language: one module a theme, one entry a language (ISO 639-1 code), no code.

Words raise or lower scores; they are not needed to find a list. Adding a language means adding an entry to each table.
"""
