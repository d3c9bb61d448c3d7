"""robots.txt of the hosts that this process holds: what is in force, how it is read, what is stored."""
