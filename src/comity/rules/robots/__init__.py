"""robots.txt by RFC 9309: parsing, matching, verdicts with evidence, and what a failed fetch of the file means."""
