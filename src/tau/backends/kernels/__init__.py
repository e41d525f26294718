"""Processes that run cells of code and keep their variables: one for Python, one for JavaScript."""
