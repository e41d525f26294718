"""The tools of the coding agent: one module and one prompt each; `registry.py` lists them."""
