"""The version of tau, where everyone may see it."""

VERSION = "0.1.0"
