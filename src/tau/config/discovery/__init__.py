"""Finds what the user, the project and other agents' folders supply: instructions, skills, commands."""
