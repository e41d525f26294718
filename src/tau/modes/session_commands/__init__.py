"""The commands with which programs drive a session: RPC, HTTP and the client use one table."""
