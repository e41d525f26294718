"""No hostile target gets a byte through the proxy, whatever the user answers."""

import asyncio
import struct

import pytest

from tau.backends.sandbox.network.targets import RefusedTargetError, Target, parse_authority
from tau.base.addresses import is_public
from tests.safety.network_rig import (
    PUBLIC,
    ProxyRig,
    client_hello,
    connect_head,
    get,
    socks_parts,
    with_extension,
)

GOOD = connect_head(b"good.example:443")
PLAIN = connect_head(b"good.example:80")
OTHER_REQUEST = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
SNI_LIST = struct.pack(">HBH", 15, 0, 12) + b"evil.example"

# Refused even if the user would say yes to anything.
NEVER: dict[str, tuple[bytes, ...]] = {
    "loopback": (connect_head(b"127.0.0.1:80"), OTHER_REQUEST),
    "another loopback": (connect_head(b"127.8.8.8:443"), client_hello(None)),
    "localhost": (connect_head(b"localhost:443"), client_hello("localhost")),
    "name below localhost": (get(b"http://x.localhost/"),),
    "name without a dot": (get(b"http://intranet/"),),
    "private address": (get(b"http://10.0.0.1/"),),
    "shared address space": (get(b"http://100.100.100.200/"),),
    "cloud metadata": (get(b"http://169.254.169.254/latest/meta-data"),),
    "metadata name": (get(b"http://metadata.google.internal/"),),
    "metadata on a public address": (get(b"http://168.63.129.16/"),),
    "multicast": (get(b"http://224.0.0.1/"),),
    "broadcast": (get(b"http://255.255.255.255/"),),
    "this network": (get(b"http://0.0.0.0/"),),
    "octal address": (get(b"http://0177.0.0.1/"),),
    "hexadecimal address": (get(b"http://0x7f.0.0.1/"),),
    "decimal address": (get(b"http://2130706433/"),),
    "short address": (get(b"http://127.1/"),),
    "IPv6 loopback": (get(b"http://[::1]/"),),
    "mapped address": (get(b"http://[::ffff:127.0.0.1]/"),),
    "mapped public address": (get(b"http://[::ffff:5db8:d70e]/"),),
    "6to4 address": (get(b"http://[2002:7f00:1::]/"),),
    "NAT64 of a private address": (get(b"http://[64:ff9b::a00:1]/"),),
    "unique local address": (get(b"http://[fd00:ec2::254]/"),),
    "link-local address with a zone": (get(b"http://[fe80::1%25eth0]/"),),
    "NUL in a CONNECT target": (connect_head(b"evil.example\x00.good.example:443"), client_hello(None)),
    "NUL in a SOCKS name": (*socks_parts(b"evil.example\x00.good.example", 443), client_hello(None)),
    "trailing dot": (get(b"http://good.example./"),),
    "two dots": (get(b"http://good..example/"),),
    "full-width letters": (get("http://ｇood.example/".encode()),),
    "ideographic full stop": (get("http://good。example/".encode()),),
    "fake international name": (get(b"http://xn--good-.example/"),),
    "percent-encoded host": (get(b"http://good%2eexample/"),),
    "user name": (get(b"http://good.example@evil.example/"),),
    "user name in CONNECT": (connect_head(b"good.example:443@evil.example:443"), client_hello(None)),
    "odd port": (connect_head(b"good.example:22"), b"SSH-2.0-x\r\n"),
    "odd port by URL": (get(b"http://good.example:8080/"),),
    "port out of range": (connect_head(b"good.example:65979"), client_hello("good.example")),
    "name with a private address": (get(b"http://rebind.example/"),),
    "name with one private address of two": (get(b"http://mixed.example/"),),
    "private address by SOCKS": (*socks_parts(bytes((10, 0, 0, 1)), 80, 1), OTHER_REQUEST),
    "IPv6 loopback by SOCKS": (*socks_parts(bytes(15) + b"\x01", 80, 4), OTHER_REQUEST),
    "decimal address by SOCKS": (*socks_parts(b"2130706433", 80), OTHER_REQUEST),
    "Host that differs": (get(b"http://good.example/", b"evil.example"),),
    "second Host": (get(b"http://good.example/", more=b"Host: evil.example\r\n"),),
    "Host in a tunnel that differs": (PLAIN, OTHER_REQUEST),
    "CONNECT in a tunnel": (PLAIN, connect_head(b"evil.example:443")),
    "whole URL in a tunnel": (PLAIN, get(b"http://evil.example/", b"good.example")),
    "SNI that differs": (GOOD, client_hello("evil.example")),
    "no SNI": (GOOD, client_hello(None)),
    "encrypted SNI": (GOOD, with_extension(client_hello("good.example"), 0xFE0D, b"\0" * 40)),
    "two SNI": (GOOD, with_extension(client_hello("good.example"), 0, SNI_LIST)),
    "SNI by SOCKS that differs": (*socks_parts(b"good.example", 443), client_hello("evil.example")),
    "not TLS": (GOOD, b"SSH-2.0-OpenSSH_9.2\r\n"),
    "header folded": (get(b"http://good.example/", more=b" Host: evil.example\r\n"),),
    "space before a colon": (get(b"http://good.example/", more=b"Host : evil.example\r\n"),),
    "bare line feed": (b"GET http://good.example/ HTTP/1.1\nHost: evil.example\n\r\n\r\n",),
    "two lengths": (
        get(b"http://good.example/", more=b"Content-Length: 0\r\nContent-Length: 60\r\n") + OTHER_REQUEST,
    ),
    "length and chunks": (
        get(b"http://good.example/", more=b"Content-Length: 60\r\nTransfer-Encoding: chunked\r\n")
        + b"0\r\n\r\n"
        + OTHER_REQUEST,
    ),
    "other transfer coding": (get(b"http://good.example/", more=b"Transfer-Encoding: x, chunked\r\n"),),
    "ftp": (get(b"ftp://good.example/"),),
    "no URL": (b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n",),
    "udp by SOCKS": (b"\x05\x01\x00", b"\x05\x03\x00\x03\x0cgood.example\x01\xbb"),
    "SOCKS4": (b"\x04\x01\x00\x50\x5d\xb8\xd7\x0e\x00",),
}
# Refused because the user says no: they only look like a listed host.
UNLISTED: dict[str, tuple[bytes, ...]] = {
    "other host": (connect_head(b"evil.example:443"), client_hello("evil.example")),
    "listed host as a prefix": (get(b"http://good.example.evil.example/"),),
    "listed host as a suffix": (get(b"http://evilgood.example/"),),
    "parent of a wildcard": (get(b"http://wild.example/"),),
    "suffix of a wildcard": (get(b"http://evilwild.example/"),),
    "public address of a listed host": (connect_head(f"{PUBLIC}:443".encode()), client_hello(None)),
    "name by SOCKS": (*socks_parts(b"evil.example", 443), client_hello("evil.example")),
    "international look-alike": (get(b"http://xn--god-fna.example/"),),
}
NAMES = {
    "good.example": [PUBLIC],
    "evil.example": [PUBLIC],
    "evilgood.example": [PUBLIC],
    "wild.example": [PUBLIC],
    "evilwild.example": [PUBLIC],
    "good.example.evil.example": [PUBLIC],
    "xn--god-fna.example": [PUBLIC],
    "rebind.example": ["127.0.0.1"],
    "mixed.example": [PUBLIC, "10.0.0.1"],
}


def through(rig: ProxyRig, parts: tuple[bytes, ...]) -> list[bytes]:
    async def main() -> None:
        async with rig.running():
            await rig.send(*parts)

    asyncio.run(main())
    return rig.origin.received


@pytest.mark.parametrize("name", NEVER)
def test_a_hostile_target_is_refused_even_if_the_user_allows_every_host(name: str) -> None:
    rig = ProxyRig(names=NAMES, answers=lambda host, port: True)
    assert through(rig, NEVER[name]) == []
    assert [host for host, _ in rig.questions if Target(host, 80).is_address] == []


@pytest.mark.parametrize("name", UNLISTED)
def test_a_look_alike_of_a_listed_host_is_asked_about_and_never_looked_up(name: str) -> None:
    rig = ProxyRig(names=NAMES, answers=lambda host, port: False)
    assert through(rig, UNLISTED[name]) == []
    assert len(rig.questions) == 1
    assert rig.lookups == rig.connections == []


def test_an_address_has_one_spelling() -> None:
    for text in (
        "[2606:4700:4700:0:0:0:0:1111]:443",
        "[2606:4700:4700::01111]:443",
        "08.8.8.8:80",
        "8.8.8:80",
    ):
        with pytest.raises(RefusedTargetError):
            parse_authority(text)
    assert parse_authority("[2606:4700:4700::1111]:443") == Target("2606:4700:4700::1111", 443)
    assert parse_authority("8.8.8.8:80") == Target("8.8.8.8", 80)


def test_a_second_request_on_a_connection_does_not_reach_the_server() -> None:
    rig = ProxyRig(names=NAMES, answers=lambda host, port: True)
    first, second = get(b"http://good.example/one"), get(b"http://evil.example/two")
    received = b"".join(through(rig, (first + second,)))
    assert b"/one" in received
    assert b"/two" not in received
    assert b"evil" not in received


def test_a_request_hidden_behind_a_chunked_body_does_not_reach_the_server() -> None:
    rig = ProxyRig(names=NAMES)
    head = get(b"http://good.example/", more=b"Transfer-Encoding: chunked\r\n")
    received = b"".join(through(rig, (head + b"3;ext\r\nabc\r\n0\r\n\r\n" + OTHER_REQUEST,)))
    assert b"evil" not in received
    rig = ProxyRig(names=NAMES)
    received = b"".join(through(rig, (head + b"3\r\nabc\r\n0\r\nX: y\r\n\r\n" + OTHER_REQUEST,)))
    assert b"evil" not in received


def test_a_name_is_looked_up_once_and_its_address_connected_to() -> None:
    class Rebinding(ProxyRig):
        async def look_up(self, host: str) -> list[str]:
            self.lookups.append(host)
            return [PUBLIC] if len(self.lookups) == 1 else ["127.0.0.1"]

    rig = Rebinding()
    assert through(rig, (get(b"http://good.example/"),))
    assert rig.lookups == ["good.example"]
    assert rig.connections == [(PUBLIC, 80)]


def test_addresses_that_are_not_on_the_internet() -> None:
    private = """
        0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 127.0.0.1 169.254.1.1 172.16.0.1 172.31.255.255 192.0.0.170
        192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1
        255.255.255.255 168.63.129.16 :: ::1 ::127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 100::1
        2001::1 2001:db8::1 2002:808:808::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1 fe80::1%eth0
        2606:4700:4700::1111%eth0 1 x
    """
    public = "1.1.1.1 8.8.8.8 93.184.215.14 172.32.0.1 2606:4700:4700::1111 64:ff9b::808:808"
    assert [text for text in private.split() if is_public(text)] == []
    assert [text for text in public.split() if not is_public(text)] == []
