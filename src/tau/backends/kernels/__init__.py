"""Long-lived processes that run code cells, one for Python and one for JavaScript."""
