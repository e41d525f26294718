"""Commands on other machines: the hosts that are configured, connections that are kept, remote shells."""
