"""What a fetched body holds: bytes in, plain values out; nothing here fetches, waits or writes."""
