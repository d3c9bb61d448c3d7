"""Reading fetched bodies: takes bytes, returns plain values. Nothing fetches or writes; only `html_pool` waits."""
