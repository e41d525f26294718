"""Commands on other machines: configured hosts, shared connections, remote shells."""
