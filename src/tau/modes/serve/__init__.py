"""The HTTP server: sessions for web pages, editors and scripts."""
