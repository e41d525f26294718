"""The network of a sandbox: a proxy that connects to listed hosts and asks about others."""
