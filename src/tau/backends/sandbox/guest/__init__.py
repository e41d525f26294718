"""The part of tau that runs inside a sandbox: standard library only, and as little of it as possible."""
