"""Task formats of other benchmarks."""
