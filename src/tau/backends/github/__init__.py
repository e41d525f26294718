"""GitHub through gh, the user's own command line client."""
