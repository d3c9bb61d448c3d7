"""Reports about the state for operators, as plain values."""
