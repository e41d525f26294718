"""Python extensions: found, imported, connected to a session, contained when they fail."""
