"""Themes as data, the signs of the screen, and the way from a setting to colours."""
