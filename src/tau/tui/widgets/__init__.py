"""The components: each file one, none knowing what it is used for."""
