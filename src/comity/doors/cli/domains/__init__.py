"""`comity domains`: what is known of hosts, and what an operator may do to them."""
