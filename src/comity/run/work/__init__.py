"""Workers: each crawls what the table of hosts offers, and does the upkeep between its runs."""
