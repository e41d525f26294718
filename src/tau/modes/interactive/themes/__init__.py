"""Themes as data, the symbols of the screen, and the path from a setting to colors."""
