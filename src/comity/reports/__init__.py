"""Questions an operator asks of the state, answered as plain values."""
