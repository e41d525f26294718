"""The list proxy: what goes through, what is asked, and what limits it."""

import asyncio

import pytest

from tau.backends.sandbox.network.decision_log import MAX_DECISIONS, DecisionLog
from tau.backends.sandbox.network.host_rules import HostRules, default_hosts, parse_rule
from tau.backends.sandbox.network.proxy import ProxyLimits
from tau.backends.sandbox.network.proxy_env import proxy_env
from tau.backends.sandbox.network.targets import Target
from tau.base.errors import UsageError
from tests.safety.network_rig import (
    ANSWER,
    PUBLIC,
    ProxyRig,
    client_hello,
    connect_head,
    get,
    socks_parts,
)
from tests.support.idle import until
from tests.support.limits import HANG_S

HELLO = client_hello("good.example", alpn=("h2", "http/1.1"))


def test_listed_hosts_are_reached_by_every_protocol_without_a_question() -> None:
    async def main() -> None:
        async with ProxyRig(answers=lambda host, port: False).running() as rig:
            assert (await rig.send(get(b"http://good.example/x?y=1"))).endswith(b"yes")
            assert b"200 Connection" in await rig.send(connect_head(b"GOOD.example:443"), HELLO)
            assert (await rig.send(*socks_parts(b"good.example", 443), HELLO)).startswith(b"\x05\x00\x05\x00")
            request = b"GET /socks HTTP/1.1\r\nHost: good.example\r\n\r\n"
            assert (await rig.send(*socks_parts(b"good.example", 80), request)).endswith(b"yes")
            assert (await rig.send(get(b"http://a.wild.example/"))).endswith(b"yes")
            assert (await rig.send(get(b"http://six.example/"))).endswith(b"yes")
        assert rig.questions == []
        assert rig.blocked == []
        received = b"".join(rig.origin.received)
        assert received.count(HELLO) == 2
        assert b"GET /x?y=1 HTTP/1.1\r\nHost: good.example\r\n" in received
        assert b"GET /socks HTTP/1.1\r\n" in received

    asyncio.run(main())


def test_a_server_name_is_found_in_a_message_that_comes_in_pieces() -> None:
    async def main() -> None:
        async with ProxyRig().running() as rig:
            message = HELLO[5:]
            pieces = [message[:3], message[3:200], message[200:]]
            records = b"".join(b"\x16\x03\x01" + len(piece).to_bytes(2) + piece for piece in pieces)
            reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
            writer.write(connect_head(b"good.example:443"))
            await reader.readuntil(b"\r\n\r\n")
            for at in range(0, len(records), 50):
                writer.write(records[at : at + 50])
                await writer.drain()
                await asyncio.sleep(0)
            await until(lambda: b"".join(rig.origin.received) == records, HANG_S, lambda: "it did not arrive")
            writer.close()

    asyncio.run(main())


def test_bodies_arrive_whole_and_proxy_headers_do_not() -> None:
    async def main() -> None:
        async with ProxyRig().running() as rig:
            more = b"Content-Length: 5\r\nProxy-Authorization: Basic eDp5\r\nConnection: x-a\r\nX-A: 1\r\n"
            await rig.send(get(b"http://good.example/", more=more) + b"hello")
            received = b"".join(rig.origin.received)
            assert received.endswith(b"\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
            assert b"Basic" not in received
            assert b"X-A" not in received
            rig.origin.received.clear()
            head = get(b"http://good.example/", more=b"Transfer-Encoding: chunked\r\n")
            await rig.send(head + b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n")
            assert b"hello" in b"".join(rig.origin.received)

    asyncio.run(main())


def test_a_request_waits_for_the_answer_and_others_for_the_same_host_share_the_question() -> None:
    async def main() -> None:
        rig = ProxyRig(hosts=(), answers=lambda host, port: host == "good.example")
        rig.may_answer.clear()
        async with rig.running(), asyncio.TaskGroup() as group:
            sent = [group.create_task(rig.send(get(b"http://good.example/"))) for _ in range(5)]
            other = group.create_task(rig.send(get(b"http://a.wild.example/")))
            await until(lambda: len(rig.questions) == 2, HANG_S, lambda: str(rig.questions))
            assert rig.lookups == []
            rig.may_answer.set()
            assert all([(await task).endswith(b"yes") for task in sent])
            assert b"403 Blocked by the sandbox: a.wild.example is not an allowed host" in await other
        assert sorted(rig.questions) == [("a.wild.example", 80), ("good.example", 80)]
        assert rig.blocked == [("a.wild.example", 80, "a.wild.example is not an allowed host")]

    asyncio.run(main())


def test_an_empty_list_allows_nothing_where_nobody_can_be_asked() -> None:
    async def main() -> None:
        async with ProxyRig(hosts=()).running() as rig:
            assert (await rig.send(get(b"http://good.example/"))).startswith(b"HTTP/1.1 403 Blocked")
            assert (await rig.send(*socks_parts(b"good.example", 443), HELLO))[2:4] == b"\x05\x02"
        assert rig.origin.received == rig.lookups == []

    asyncio.run(main())


def test_a_rule_with_a_port_opens_that_port_for_any_protocol() -> None:
    async def main() -> None:
        async with ProxyRig(hosts=("good.example:22",)).running() as rig:
            assert b"200" in await rig.send(connect_head(b"good.example:22"), b"SSH-2.0-x\r\n")
            assert b"403" in await rig.send(connect_head(b"good.example:443"), HELLO)
        assert rig.connections == [(PUBLIC, 22)]
        assert rig.origin.received == [b"SSH-2.0-x\r\n"]

    asyncio.run(main())


def test_a_host_that_cannot_be_reached_is_not_called_blocked() -> None:
    async def main() -> None:
        rig = ProxyRig()
        async with rig.running():
            rig.servers = {80: 1}  # nothing listens there
            assert (await rig.send(get(b"http://good.example/"))).startswith(b"HTTP/1.1 502 Cannot connect")
        assert rig.blocked == []
        assert [decision.verdict for decision in rig.decisions.since(0)] == ["failed"]

    asyncio.run(main())


def test_too_many_connections_are_turned_away() -> None:
    async def main() -> None:
        async with ProxyRig(limits=ProxyLimits(connections=2)).running() as rig:
            waiting = [await asyncio.open_connection("127.0.0.1", rig.port) for _ in range(2)]
            await asyncio.sleep(0)
            answer = b""
            async with asyncio.timeout(HANG_S):
                while b"503" not in answer:
                    answer = await rig.send(b"")
            for _, writer in waiting:
                writer.close()

    asyncio.run(main())


def test_a_client_that_says_nothing_is_dropped() -> None:
    async def main() -> None:
        async with ProxyRig(limits=ProxyLimits(request_s=0.05)).running() as rig:
            for first in (b"", b"C", b"\x05", b"CONNECT good.example:443 HTTP/1.1\r\nHo"):
                reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
                writer.write(first)
                async with asyncio.timeout(HANG_S):
                    assert await reader.read() == b""
                writer.close()

    asyncio.run(main())


def test_a_head_that_never_ends_is_dropped() -> None:
    async def main() -> None:
        async with ProxyRig().running() as rig:
            endless = b"GET http://good.example/ HTTP/1.1\r\n" + b"X: y\r\n" * 100_000
            assert b"200" not in await rig.send(endless)
            endless_hello = (b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + bytes(16380)) * 20
            await rig.send(connect_head(b"good.example:443"), endless_hello)
        assert rig.origin.received == []

    asyncio.run(main())


def test_a_silent_connection_ends_and_a_slow_one_does_not() -> None:
    async def main() -> None:
        rig = ProxyRig(limits=ProxyLimits(idle_s=0.2))
        rig.origin.answer = b""
        async with rig.running():
            reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
            writer.write(connect_head(b"good.example:443"))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HELLO)
            for _ in range(10):  # longer than the limit on silence
                await asyncio.sleep(0.05)
                writer.write(b"more")
            async with asyncio.timeout(HANG_S):
                assert await reader.read() == b""
            writer.close()
        assert b"".join(rig.origin.received).endswith(b"more" * 10)

    asyncio.run(main())


def test_the_log_of_decisions_is_bounded_and_says_what_it_dropped() -> None:
    log = DecisionLog(clock=lambda: 7.0)
    for number in range(MAX_DECISIONS + 5):
        log.add(f"h{number}.example", 443, "blocked", "why")
    assert log.dropped == 5
    last = list(log.since(MAX_DECISIONS + 4))
    assert [(decision.host, decision.time) for decision in last] == [(f"h{MAX_DECISIONS + 4}.example", 7.0)]


def test_the_default_list_is_valid_and_names_package_registries() -> None:
    rules = HostRules.of(default_hosts())
    for host in ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "index.crates.io"):
        assert rules.covers(Target(host, 443))
    for host in ("evil.example", "github.com", "raw.githubusercontent.com", "gist.github.com"):
        assert not rules.covers(Target(host, 443))
    assert not rules.covers(Target("pypi.org", 22))
    assert not any(rule.wildcard for rule in rules.rules)


@pytest.mark.parametrize(
    "pattern",
    ["", "*", "*.", "a", "a b.example", "x.example:0", "x.example:99999", "http://x.example", "*.*.x"],
)
def test_invalid_rule_is_a_clear_error(pattern: str) -> None:
    with pytest.raises(UsageError, match="is not a host rule: "):
        parse_rule(pattern)


def test_the_environment_names_the_proxy_and_keeps_what_the_user_set() -> None:
    env = proxy_env(4128, {"PIP_RETRIES": "9", "MAVEN_OPTS": "-Xmx1g"})
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        assert env[name] == "http://127.0.0.1:4128"
    assert env["no_proxy"] == env["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert env["NODE_USE_ENV_PROXY"] == "1"
    assert env["MAVEN_OPTS"].startswith("-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=4128")
    assert "PIP_RETRIES" not in env


def test_large_bodies_pass_both_ways() -> None:
    async def main() -> None:
        rig = ProxyRig()
        size = 3_000_000
        rig.origin.answer = ANSWER.replace(b"3\r\n", f"{size}\r\n".encode()).replace(b"yes", b"y" * size)
        rig.origin.answers_after = size
        async with rig.running():
            head = get(b"http://good.example/", more=f"Content-Length: {size}\r\n".encode())
            answer = await rig.send(head + b"x" * size)
        assert answer.endswith(b"\r\n\r\n" + b"y" * size)
        assert b"".join(rig.origin.received).endswith(b"\r\n\r\n" + b"x" * size)

    asyncio.run(main())
