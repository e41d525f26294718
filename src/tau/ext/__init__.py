"""Code from outside tau: command hooks, extensions, tools and servers of users."""
