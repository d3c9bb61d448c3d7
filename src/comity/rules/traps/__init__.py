"""Crawler traps: endless URL spaces on one host, recognised by their shape and by what was found in them."""
