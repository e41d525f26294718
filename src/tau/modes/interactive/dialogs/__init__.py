"""Dialogs that replace the composer until they are answered."""
