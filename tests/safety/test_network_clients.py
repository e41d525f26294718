"""Real programs behind the proxy: what is listed works, what is not fails at once with a reason."""

import asyncio
import os
import shutil
import ssl
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tau.backends.sandbox.network.proxy_env import proxy_env
from tests.safety.network_rig import ProxyRig

KEPT = ("PATH", "HOME", "TMPDIR", "LANG")
LIMIT_S = 120.0


class QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@asynccontextmanager
async def behind_proxy(folder: Path, certificate: Path | None = None) -> AsyncIterator[ProxyRig]:
    """A proxy whose hosts all serve the files of `folder`, with TLS on port 443 if there is a certificate."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFiles, directory=str(folder)))]
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFiles, directory=str(folder))))
        servers[1].socket = context.wrap_socket(servers[1].socket, server_side=True)
    threads = [Thread(target=server.serve_forever, args=(0.01,)) for server in servers]
    for thread in threads:
        thread.start()
    ports = {port: server.server_port for port, server in zip((80, 443), servers, strict=False)}
    try:
        async with ProxyRig(servers=ports).running() as rig:
            yield rig
    finally:
        for server, thread in zip(servers, threads, strict=True):
            await asyncio.to_thread(server.shutdown)
            thread.join()
            server.server_close()


async def run(rig: ProxyRig, *argv: str, cwd: Path | None = None) -> tuple[int | None, str]:
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=env | proxy_env(rig.port, env) | {"GIT_TERMINAL_PROMPT": "0", "PIP_CONFIG_FILE": os.devnull},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(LIMIT_S):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    need("openssl")
    file = tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=good.example -addext"
    words = [*make.split(), "subjectAltName=DNS:good.example", "-keyout", str(file), "-out", f"{file}.crt"]

    async def main() -> int:
        process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)
        return await process.wait()

    assert asyncio.run(main()) == 0
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


def test_curl_reaches_listed_hosts_and_reads_why_others_are_blocked(
    tmp_path: Path, certificate: Path
) -> None:
    need("curl")
    (tmp_path / "x").write_text("hello")

    async def main() -> None:
        async with behind_proxy(tmp_path, certificate) as rig:
            assert await run(rig, "curl", "-sS", "http://good.example/x") == (0, "hello")
            trusted = ("--cacert", f"{certificate}.crt")
            assert await run(rig, "curl", "-sS", *trusted, "https://good.example/x") == (0, "hello")
            socks = ("--noproxy", "", "-x", f"socks5h://127.0.0.1:{rig.port}")
            assert await run(rig, "curl", "-sS", *trusted, *socks, "https://good.example/x") == (0, "hello")
            assert await run(rig, "curl", "-sS", *socks, "http://good.example/x") == (0, "hello")
            two = ("http://good.example/x", "http://good.example/x")
            assert await run(rig, "curl", "-sS", *two) == (0, "hellohello")
            code, text = await run(rig, "curl", "-sS", "https://evil.example/x")
            assert (code, text.strip()) == (56, "curl: (56) CONNECT tunnel failed, response 403")
            _, text = await run(rig, "curl", "-sS", "http://evil.example/x")
            assert text == "Blocked by the sandbox: evil.example is not an allowed host.\n"
            header = ("-H", "Host: evil.example")
            code, _ = await run(rig, "curl", "-sS", *header, "http://good.example/x")
            assert rig.blocked[-1][2] == "the Host header names another host"
            code, _ = await run(
                rig,
                "curl",
                "-sSk",
                "--connect-to",
                "evil.example:443:good.example:443",
                "https://evil.example/x",
            )
            assert code != 0
            assert rig.blocked[-1] == ("good.example", 443, "the TLS connection names another server")

    asyncio.run(main())


def test_git_clones_over_http_from_a_listed_host_only(tmp_path: Path) -> None:
    need("git")
    repository = tmp_path / "served" / "project.git"
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.example")

    async def main() -> None:
        async with behind_proxy(tmp_path / "served") as rig:
            await run(rig, "git", "init", "-q", "--bare", str(repository))
            work = tmp_path / "work"
            await run(rig, "git", "init", "-q", str(work))
            await run(rig, "git", *identity, "commit", "-q", "--allow-empty", "-m", "first", cwd=work)
            await run(rig, "git", "push", "-q", str(repository), "HEAD:refs/heads/master", cwd=work)
            await run(rig, "git", "update-server-info", cwd=repository)
            code, text = await run(
                rig, "git", "clone", "-q", "http://good.example/project.git", str(tmp_path / "clone")
            )
            assert (code, text) == (0, "")
            assert (await run(rig, "git", "log", "--format=%s", cwd=tmp_path / "clone"))[1] == "first\n"
            code, text = await run(rig, "git", "clone", "http://evil.example/p.git", str(tmp_path / "no"))
            assert code == 128
            assert "Blocked by the sandbox: evil.example is not an allowed host" in text

    asyncio.run(main())


def test_pip_installs_from_a_listed_index_and_gives_up_soon_on_another(tmp_path: Path) -> None:
    index = tmp_path / "served" / "simple" / "sample"
    index.mkdir(parents=True)
    with zipfile.ZipFile(index / "sample-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("sample.py", "")
        wheel.writestr("sample-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n")
        wheel.writestr("sample-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("sample-1.0.dist-info/RECORD", "")
    link = "sample-1.0-py3-none-any.whl"
    (index / "index.html").write_text(f'<!DOCTYPE html><a href="{link}">{link}</a>')
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-d", str(tmp_path))

    async def main() -> None:
        async with behind_proxy(tmp_path / "served") as rig:
            listed = ("--index-url", "http://good.example/simple", "--trusted-host", "good.example")
            code, text = await run(rig, *pip, *listed, "sample")
            assert code == 0, text
            assert (tmp_path / link).exists()
            code, text = await run(rig, *pip, "--index-url", "https://evil.example/simple", "sample")
            assert code == 1
            assert "403 Blocked by the sandbox: evil.example is not an allowed host" in text
            assert len(rig.blocked) == 2

    asyncio.run(main())


def test_npm_reads_a_listed_registry_and_why_another_is_blocked(tmp_path: Path) -> None:
    need("npm")
    (tmp_path / "sample").write_text(
        '{"name":"sample","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{}}}'
    )

    async def main() -> None:
        async with behind_proxy(tmp_path) as rig:
            registry = ("--registry", "http://good.example/")
            code, text = await run(rig, "npm", "view", "sample", "dist-tags.latest", *registry)
            assert (code, text.strip()) == (0, "1.0.0")
            _, text = await run(rig, "npm", "view", "sample", "--registry", "https://evil.example/")
            assert "403 Blocked by the sandbox: evil.example is not an allowed host" in text
            assert len(rig.blocked) == 1

    asyncio.run(main())
