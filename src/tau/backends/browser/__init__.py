"""Drives Chromium: one worker process per tab, and a proxy that decides where its pages connect."""
