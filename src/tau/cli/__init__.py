"""The command line; heavy modules are imported late."""
