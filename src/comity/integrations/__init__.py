"""For other people's crawlers: they ask a Comity server for grants, and so keep one pace with everything on its state.

These modules run in the crawlers' own processes. They need the standard library and the crawler's library, and import
nothing else of Comity.
"""
