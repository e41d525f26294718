"""The faces of a session: each one drives it and shows what happens, none re-implements it."""
