"""What runs in the worker process of a tab, by tau's own Python. It uses Playwright and no ports."""
