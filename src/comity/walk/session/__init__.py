"""The session: the one object that may talk to hosts, and the hosts whose leases it holds."""
