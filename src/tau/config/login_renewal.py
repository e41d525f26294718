"""Renews the access token of a login, in one of all running taus."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.ai.auth import Login, LoginTokens, resolve_value
from tau.ai.catalog import Provider
from tau.ai.oauth import tokens as token_server
from tau.ai.transport import Transport
from tau.base import log, secrets
from tau.base.errors import ConfigError, ProviderError
from tau.base.files import make_private, unlock
from tau.base.run import Runner
from tau.base.tasks import shielded, take_lock
from tau.base.text import sentence
from tau.config.auth_file import AuthFile, StoredCredential

LOCK_S = 60.0
RENEW_S = 20.0

# Tokens that could not be written, by file and refresh token: losing them would end the login.
_unsaved: dict[tuple[Path, str], LoginTokens] = {}


class LoginRenewal(Struct, frozen=True):
    """Renews the logins in `auth` over `http`, with what `providers` say about them."""

    auth: AuthFile
    providers: Mapping[str, Provider]
    run: Runner
    environ: Mapping[str, str]
    http: Transport | None
    now_ms: Callable[[], int]
    warn: Callable[[str], None]

    async def renew(self, provider: str, one: StoredCredential, rejected: str) -> str | None:
        """The access token to use: one that another tau has renewed, or a new one; None after a logout.

        Two that refresh at once would end the login at servers that rotate refresh tokens, so one lock covers
        reading, refreshing and writing. `rejected` is a token that the server no longer accepts, if any.
        Raises ProviderError.
        """
        async with renewal_lock(self.auth.path.with_name(f"login-{provider}.lock")):
            stored = await asyncio.to_thread(self.auth.settled, provider)
            current = next((other for other in stored if other.name == one.name), None)
            if current is None or current.tokens is None:
                return None
            old = _unsaved.get((self.auth.path, current.tokens.refresh), current.tokens)
            secrets.learn(old.access, old.refresh)
            if old.access != rejected and not old.is_due(self.now_ms()):
                if old is not current.tokens:
                    await asyncio.to_thread(self._save, provider, current.tokens, old)
                return old.access
            try:
                # Once the server has rotated the token, it must be written, whoever stops waiting for it.
                return await shielded(self._refresh(provider, current, old))
            except (ProviderError, token_server.LoginError) as error:
                over = isinstance(error, token_server.LoginError) and error.over
                if not over and old.access != rejected and old.expires > self.now_ms():
                    log.warning(f"The login for {provider} could not be renewed yet.", error)
                    return old.access
                raise _failure(provider, error, over=over) from error

    async def _refresh(self, provider: str, current: StoredCredential, old: LoginTokens) -> str:
        row = self.providers.get(provider)
        if row is None or row.login is None or self.http is None:
            message = f"models.json no longer says how to log in to {provider}."
            raise token_server.LoginError(message, over=True)
        login = await resolve_login(row.login, self.environ, self.run, current.client_id)
        try:
            async with asyncio.timeout(RENEW_S):
                new = await token_server.refresh(self.http, login, old)
        except TimeoutError:
            raise token_server.LoginError(f"The login server did not answer within {RENEW_S:g} s.") from None
        assert current.tokens is not None
        await asyncio.to_thread(self._save, provider, current.tokens, new)
        return new.access

    def _save(self, provider: str, stored: LoginTokens, new: LoginTokens) -> None:
        """Write the tokens; if that fails, this process keeps them and tries again when it needs them."""
        place = (self.auth.path, stored.refresh)
        try:
            self.auth.renew_login(provider, stored, new)
            _unsaved.pop(place, None)
        except ConfigError as error:
            _unsaved[place] = new
            log.warning(f"The renewed login for {provider} is not saved.", error)
            self.warn(
                f"The renewed login for {provider} could not be saved: {error} Until it is, other taus and"
                " later ones have to log in again."
            )


async def resolve_login(login: Login, environ: Mapping[str, str], run: Runner, client_id: str = "") -> Login:
    """With the user's client id, and with variables and commands replaced by their values."""
    secret = await resolve_value(login.client_secret, environ, run) if login.client_secret else None
    if secret:
        secrets.learn(secret)
    named = await resolve_value(client_id or login.client_id, environ, run)
    return replace(login, client_id=named or "", client_secret=secret or "")


def _failure(provider: str, error: Exception, *, over: bool) -> ProviderError:
    if over:
        message = f"Your login for {provider} has ended. {sentence(str(error))} Run tau login {provider}."
        return ProviderError(message, kind="auth")
    if isinstance(error, ProviderError):
        return error
    return ProviderError(f"The login for {provider} could not be renewed. {error}", retryable=True)


@asynccontextmanager
async def renewal_lock(path: Path) -> AsyncIterator[None]:
    """Hold a lock across processes without holding up the event loop."""
    try:
        make_private(path.parent)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES):
            raise ConfigError(f"{path} cannot be opened: {error.strerror}.") from error
        yield  # nobody could write the tokens either
        return
    try:
        try:
            await take_lock(fd, LOCK_S)
        except TimeoutError:
            raise ProviderError(
                "Another tau has been renewing this login for too long.", retryable=True
            ) from None
        try:
            yield
        finally:
            unlock(fd)
    finally:
        os.close(fd)
