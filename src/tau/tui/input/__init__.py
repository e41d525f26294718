"""Turns keyboard bytes into keys, pastes and actions."""
