"""Word tables by language: one module per theme, one entry per language (ISO 639-1 code), no code.

Words raise or lower scores; a list is found without them. To add a language, add an entry to each table.
"""
