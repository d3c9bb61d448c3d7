"""The expression language: reading and printing expressions, and turning what they find into typed values."""
