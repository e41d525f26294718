"""The version of tau."""

VERSION = "0.1.0"
