"""Code that runs inside a Python kernel; tau itself imports none of it."""
