"""Proofs with many workers and machines: real servers, real networks, and plugs that are pulled."""
