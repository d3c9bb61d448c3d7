"""Reading fetched bodies: takes bytes, returns plain values. Nothing here fetches or writes, and only `apart` waits."""
