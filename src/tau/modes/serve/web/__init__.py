"""The web page of the HTTP server: static files, and the conversation as HTML."""
