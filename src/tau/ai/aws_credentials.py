"""Keys for Amazon Web Services: variables, profiles, and through botocore SSO, roles and instances."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tau.ai.cloud_credentials import expand_address, home, is_in_repository
from tau.base import secrets
from tau.base.errors import ConfigError
from tau.base.late import late
from tau.base.text import sentence

aws_sigv4 = late("tau.ai.aws_sigv4")
configparser = late("configparser")
botocore_session = late("botocore.session")

ENDPOINT = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
# Variables of credentials that botocore obtains.
ROLES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
# What a machine of Amazon's says it is.
INSTANCE_MARKS = {"/sys/devices/virtual/dmi/id/sys_vendor": "Amazon EC2", "/sys/hypervisor/uuid": "ec2"}
PROGRAM = "credential_process"
EXTRA = "install tau's extra for it: pip install 'tau-agent[bedrock]'"


class AwsCredentials:
    """Implements `CloudCredentials`."""

    hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._session_credentials: Any = None  # botocore's, which renew themselves

    @property
    def profile(self) -> str:
        return self._environ.get("AWS_PROFILE") or self._environ.get("AWS_DEFAULT_PROFILE") or "default"

    def is_configured(self) -> bool:
        variables = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", *ROLES)
        if any(self._environ.get(name) for name in variables):
            return True
        return bool(self._profile_values()) or _is_instance()

    async def find(self, *, fresh: bool = False) -> str | None:
        key = self._static_key()
        if key is None:
            if not self.is_configured():
                return None
            key = await asyncio.to_thread(self._botocore_key, fresh)
        for secret in (key.secret, key.session_token):
            if secret:
                secrets.learn(secret)
        return key.joined()

    def address(self, base_url: str) -> str:
        if "{" not in base_url:
            return base_url
        if endpoint := self._environ.get(ENDPOINT):
            return endpoint.rstrip("/")
        region = self._profile_values().get("region", "")
        return expand_address(base_url, {"AWS_DEFAULT_REGION": region, **self._environ}, "Amazon Bedrock")

    def _static_key(self) -> "aws_sigv4.AwsKey | None":
        """A key that is written down."""
        environ = self._environ
        if environ.get("AWS_ACCESS_KEY_ID") and environ.get("AWS_SECRET_ACCESS_KEY"):
            return aws_sigv4.AwsKey(
                environ["AWS_ACCESS_KEY_ID"].strip(),
                environ["AWS_SECRET_ACCESS_KEY"].strip(),
                environ.get("AWS_SESSION_TOKEN", "").strip(),
            )
        if any(environ.get(name) for name in ROLES) and not environ.get("AWS_PROFILE"):
            return None
        values = self._profile_values()
        if values.get("aws_access_key_id") and values.get("aws_secret_access_key"):
            token = values.get("aws_session_token", "")
            return aws_sigv4.AwsKey(values["aws_access_key_id"], values["aws_secret_access_key"], token)
        return None

    def _profile_values(self) -> dict[str, str]:
        """The profile's values in both files; the credentials file wins."""
        config, shared = self._files()
        section = self.profile if self.profile == "default" else f"profile {self.profile}"
        return {**_read_section(config, section), **_read_section(shared, self.profile)}

    def _files(self) -> tuple[str, str]:
        folder = home(self._environ) / ".aws"
        config = self._environ.get("AWS_CONFIG_FILE") or str(folder / "config")
        return config, self._environ.get("AWS_SHARED_CREDENTIALS_FILE") or str(folder / "credentials")

    def _botocore_key(self, fresh: bool) -> "aws_sigv4.AwsKey":
        """In a thread: it may ask servers, and run a program that a profile names."""
        for file in filter(is_in_repository, self._files()):
            if any(PROGRAM in values for values in _read(file).values()):
                raise ConfigError(
                    f"{file} names a program ({PROGRAM}), and the agent could change it: move the file out of"
                    " the repository."
                )
        try:
            if self._session_credentials is None or fresh:
                session = botocore_session.Session(profile=self._environ.get("AWS_PROFILE") or None)
                self._session_credentials = session.get_credentials()
            found = self._session_credentials
            frozen = found.get_frozen_credentials() if found is not None else None
        except ImportError as error:
            raise ConfigError(
                f'The AWS profile "{self.profile}" has no access key (SSO or a role): {EXTRA}.'
            ) from error
        except Exception as error:  # botocore has no common base for what can fail here
            raise ConfigError(sentence(f"No AWS credentials: {error}")) from error
        if frozen is None:
            raise ConfigError(f'The AWS profile "{self.profile}" has no credentials: {self.hint}.')
        return aws_sigv4.AwsKey(frozen.access_key, frozen.secret_key, frozen.token or "")


def _is_instance() -> bool:
    for path, mark in INSTANCE_MARKS.items():
        try:
            if Path(path).read_text().startswith(mark):
                return True
        except OSError:
            continue
    return False


def _read_section(path: str, section: str) -> dict[str, str]:
    """A section of an INI file; empty if there is none."""
    return _read(path).get(section, {})


def _read(path: str) -> dict[str, dict[str, str]]:
    """The sections of an INI file; none if there is no file. Raises ConfigError for a broken one."""
    if not Path(path).is_file():
        return {}
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {type(error).__name__}.") from error
    return {section: dict(parser[section]) for section in parser.sections()}
