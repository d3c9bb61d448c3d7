"""A whole-site crawl: a client of the session that takes hosts, visits their pages and settles what came."""
