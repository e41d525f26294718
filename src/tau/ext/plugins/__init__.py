"""Plugins: folders of extensions, skills and hooks, installed from a folder, a repository or a package."""
