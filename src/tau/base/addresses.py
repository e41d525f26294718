"""Tells addresses on the internet from private ones."""

import ipaddress

# Not public although the `ipaddress` of some Python versions says so, or only meant for one's own cloud.
_MORE_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24"),
        *("198.18.0.0/15", "224.0.0.0/3", "::/8", "100::/64", "2001::/23", "2002::/16", "3fff::/20"),
        *("5f00::/16", "fc00::/7", "fe80::/9", "fec0::/10", "ff00::/8"),
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether this is an address on the internet: not private, local or multicast, nor one in disguise."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if address in _NAT64:
            address = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if any(address in network for network in _MORE_PRIVATE if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
