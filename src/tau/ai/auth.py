"""API keys: the credentials port, and the resolution of configured values."""

import re
from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import Struct

from tau.base import secrets
from tau.base.errors import ConfigError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.run import Limits, Runner, secret_environ
from tau.base.sizes import KIB
from tau.base.text import sentence

tempfile = late("tempfile")
shlex = late("shlex")

COMMAND_TIMEOUT_S = 10
MAX_OUTPUT_BYTES = 64 * KIB
RENEW_EARLY_MS = 5 * 60_000  # before a login expires

# Anthropic's terms keep tokens of these plans to its own programs.
CLAUDE_TOKEN = "sk-ant-oat"
CLAUDE_PLANS = (
    "Anthropic allows logins with a Claude Free, Pro or Max plan only in its own products. Create an API key"
    " at https://console.anthropic.com/settings/keys and run tau login anthropic."
)

# Output of `!command` values, cached for the process: some ask for a fingerprint or a password.
_printed: dict[tuple[str, bool], str] = {}


class Login(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """How to log in to a provider with OAuth.

    `discovery` is the address of an OpenID Connect issuer, which lists the other addresses; one that is set
    wins. The browser returns to `redirect`; port 0 is any free port. `params` are added to the login page's
    address. `kind` openrouter: no client id, no `state`, and the result is a key that does not expire.
    """

    kind: Literal["oauth", "openrouter"] = "oauth"
    discovery: str = ""
    authorization_url: str = ""
    token_url: str = ""
    device_url: str = ""
    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    redirect: str = "http://127.0.0.1:0/callback"
    params: dict[str, str] = {}

    @property
    def has_device_flow(self) -> bool:
        """Whether it may have one: an issuer's document tells."""
        return bool(self.device_url or self.discovery)


class LoginTokens(Struct, frozen=True, rename="camel"):
    """`expires` is in milliseconds since 1970; 0 if the token does not. `account` is a name for people.

    `renew_at` is when to renew it; 0 if that is the usual time before it expires.
    """

    access: str
    refresh: str = ""
    expires: int = 0
    account: str = ""
    renew_at: int = 0

    def is_due(self, now_ms: int) -> bool:
        """Whether to renew it now."""
        return self.expires > 0 and now_ms >= (self.renew_at or self.expires - RENEW_EARLY_MS)


class KeyRetry(Struct, frozen=True):
    """What to do after a key failed: use another `key` now, wait `wait_s`, or neither."""

    key: str | None = None
    wait_s: float | None = None


class Credentials(Protocol):
    """Where keys come from. None means no key, which a local server accepts."""

    async def get(self, provider: str) -> str | None: ...

    async def refresh(self, provider: str, rejected: str) -> str | None:
        """The replacement of a rejected key; None if it was not replaced."""
        ...

    async def rotate(self, provider: str, failed: str, *, refused: bool, wait_s: float | None) -> KeyRetry:
        """Block a key for as long as the server asked, and use the provider's next key.

        `refused`: the key is rejected, not rate-limited.
        """
        ...


def is_variable(value: str) -> bool:
    """Whether a value is the name of an environment variable, not a secret."""
    return re.fullmatch(r"[A-Z][A-Z0-9_]+", value) is not None


async def resolve_value(
    value: str, environ: Mapping[str, str], run: Runner, *, fresh: bool = False, is_own: bool = True
) -> str | None:
    """Resolve a value from a file: the text itself, a variable's content, or the output of `!command`.

    The name of an unset variable gives None, so the name is never sent as a key.
    `fresh` runs a command again. One that is not the user's own sees no keys, nor what theirs printed.
    """
    value = value.strip()
    if value.startswith("!"):
        command = value[1:].strip()
        if fresh or (command, is_own) not in _printed:
            printed = await _run(command, run, secret_environ() if is_own else {})
            _printed[command, is_own] = printed
            secrets.learn(printed)
        return _printed[command, is_own]
    if is_variable(value):
        value = environ.get(value, "").strip()
    return value or None


async def resolve_headers(
    headers: Mapping[str, str], environ: Mapping[str, str], run: Runner
) -> dict[str, str]:
    """Resolve header values; headers with unset variables are omitted."""
    resolved = {name: await resolve_value(value, environ, run) for name, value in headers.items()}
    return {name: value for name, value in resolved.items() if value is not None}


async def _run(command: str, run: Runner, env: Mapping[str, str]) -> str:
    """Run a command that prints one line. Only its stderr is ever shown: stdout may be the secret."""
    if not command:
        raise ConfigError('A value is just "!": add a command after it.')
    with tempfile.NamedTemporaryFile(prefix="tau-") as errors:
        try:
            process = await run.start(
                f"exec 2>{shlex.quote(errors.name)}\n{command}",
                cwd=typed_path("~"),  # not the project: keys do not depend on the folder
                env=env,  # a password manager may need its token
                limits=Limits(timeout=COMMAND_TIMEOUT_S),
            )
        except OSError as error:
            raise ConfigError(sentence(f'The command "{command}" cannot be run: {error}')) from error
        output = b""
        async with process:
            async for piece in process.output():
                output += piece
                if len(output) > MAX_OUTPUT_BYTES:
                    raise ConfigError(f'The command "{command}" printed too much for a key.')
            ended = await process.wait()
        stderr = errors.read(2_000).decode("utf-8", "replace").strip()
    if ended.timed_out:
        raise ConfigError(f'The command "{command}" printed no key within {COMMAND_TIMEOUT_S} s.')
    if ended.code != 0:
        how = f"signal {ended.signal}" if ended.code is None else f"exit code {ended.code}"
        first = stderr.splitlines()[0] if stderr else how
        raise ConfigError(sentence(f'The command "{command}" failed: {first}'))
    printed = output.decode("utf-8", "replace").strip()
    if not printed:
        raise ConfigError(f'The command "{command}" printed nothing.')
    if "\n" in printed or "\r" in printed:
        raise ConfigError(f'The command "{command}" printed more than one line; a key is one line.')
    return printed
