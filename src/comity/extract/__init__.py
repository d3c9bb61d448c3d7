"""What a fetched body holds: bytes in, plain values out; nothing here fetches or writes, and only `apart` waits."""
