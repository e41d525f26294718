"""Keys of Amazon Web Services: from variables, profiles, and through botocore."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tau.ai import aws_credentials
from tau.ai.aws_credentials import AwsCredentials
from tau.ai.aws_sigv4 import AwsKey, parse_key, region_of
from tau.base.errors import ConfigError
from tau.base.late import late

ID, SECRET = "AKIA" + "B" * 16, "s" * 40
ADDRESS = "https://bedrock-runtime.{AWS_REGION,AWS_DEFAULT_REGION|us-east-1}.amazonaws.com"


def credentials(home: Path, *, config: str = "", shared: str = "", **environ: str) -> AwsCredentials:
    folder = home / ".aws"
    folder.mkdir(exist_ok=True)
    (folder / "config").write_text(config)
    (folder / "credentials").write_text(shared)
    return AwsCredentials({"HOME": str(home), **environ})


def find(known: AwsCredentials) -> AwsKey | None:
    found = asyncio.run(known.find())
    return None if found is None else parse_key(found)


def profile(name: str, id: str = ID, more: str = "") -> str:
    return f"[{name}]\naws_access_key_id = {id}\naws_secret_access_key = {SECRET}\n{more}\n"


@pytest.fixture(autouse=True)
def no_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may be Amazon's."""
    monkeypatch.setattr(aws_credentials, "INSTANCE_MARKS", {})


def test_nothing_is_configured(tmp_path: Path) -> None:
    known = AwsCredentials({"HOME": str(tmp_path)})
    assert not known.is_configured()
    assert find(known) is None


def test_machine_of_amazon_has_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sys_vendor").write_text("Amazon EC2\n")
    monkeypatch.setattr(aws_credentials, "INSTANCE_MARKS", {str(tmp_path / "sys_vendor"): "Amazon EC2"})
    assert AwsCredentials({"HOME": str(tmp_path)}).is_configured()


def test_variables_win_over_profiles(tmp_path: Path) -> None:
    environ = {"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": "token"}
    known = credentials(tmp_path, shared=profile("default", "AKIA" + "C" * 16), **environ)
    assert known.is_configured()
    assert find(known) == AwsKey(ID, SECRET, "token")


@pytest.mark.parametrize(
    ("config", "shared", "environ"),
    [
        ("", profile("default"), {}),
        ("", profile("work"), {"AWS_PROFILE": "work"}),
        (profile("profile work"), profile("default", "AKIA" + "C" * 16), {"AWS_PROFILE": "work"}),
        (profile("default"), "", {}),
    ],
    ids=["default", "named", "in the other file", "default in the other file"],
)
def test_static_profile_needs_no_extra(
    tmp_path: Path, config: str, shared: str, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    known = credentials(tmp_path, config=config, shared=shared, **environ)
    assert known.is_configured()
    assert find(known) == AwsKey(ID, SECRET)


def test_session_token_of_a_profile_is_used(tmp_path: Path) -> None:
    shared = profile("default", more="aws_session_token = token%1")
    assert find(credentials(tmp_path, shared=shared)) == AwsKey(ID, SECRET, "token%1")


def test_role_without_the_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    monkeypatch.setattr(aws_credentials, "botocore_session", late("botocore.session"))
    config = "[profile sso]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = dev\n"
    known = credentials(tmp_path, config=config, AWS_PROFILE="sso")
    assert known.is_configured()
    with pytest.raises(ConfigError) as caught:
        find(known)
    assert str(caught.value) == (
        'The AWS profile "sso" has no access key (SSO or a role): '
        "install tau's extra for it: pip install 'tau-agent[bedrock]'."
    )


@pytest.mark.filterwarnings("ignore")
def test_program_that_a_file_of_the_repository_names_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("botocore", reason="needs the extra `bedrock`")
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "aws.cfg").write_text(f"[default]\ncredential_process = touch {tmp_path}/ran\n")
    monkeypatch.chdir(tmp_path / "sub")
    for name in ("../aws.cfg", str(tmp_path / "aws.cfg")):
        with pytest.raises(ConfigError, match="move the file out of the repository"):
            find(AwsCredentials({"HOME": str(tmp_path / "home"), "AWS_CONFIG_FILE": name}))
    assert not (tmp_path / "ran").exists()


def test_botocore_obtains_what_is_not_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore", reason="needs the extra `bedrock`")
    printed = {"Version": 1, "AccessKeyId": ID, "SecretAccessKey": SECRET, "SessionToken": "token"}
    script = tmp_path / "print.sh"
    script.write_text(f"#!/bin/sh\necho '{json.dumps(printed)}'\n")
    script.chmod(0o755)
    known = credentials(tmp_path, config=f"[profile p]\ncredential_process = {script}\n", AWS_PROFILE="p")
    monkeypatch.setenv("AWS_PROFILE", "p")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / ".aws" / "config"))
    assert find(known) == AwsKey(ID, SECRET, "token")


@pytest.mark.filterwarnings("ignore")
def test_profile_without_credentials_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore", reason="needs the extra `bedrock`")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(ConfigError) as caught:
        find(credentials(tmp_path, AWS_PROFILE="gone"))
    assert str(caught.value).startswith("No AWS credentials: ") and "gone" in str(caught.value)


def test_broken_file_is_named_without_its_content(tmp_path: Path) -> None:
    known = credentials(tmp_path, shared=f"aws_secret_access_key = {SECRET}\n")
    with pytest.raises(ConfigError) as caught:
        known.is_configured()
    assert str(tmp_path) in str(caught.value) and SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "region"),
    [
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-west-2"}, "eu-west-1"),
        ({"AWS_DEFAULT_REGION": "us-west-2", "AWS_PROFILE": "work"}, "us-west-2"),
        ({"AWS_PROFILE": "work"}, "ap-south-1"),
        ({}, "us-east-1"),
    ],
)
def test_region_comes_from_variables_then_the_profile(
    tmp_path: Path, environ: dict[str, str], region: str
) -> None:
    known = credentials(tmp_path, config="[profile work]\nregion = ap-south-1\n", **environ)
    address = known.address(ADDRESS)
    assert address == f"https://bedrock-runtime.{region}.amazonaws.com"
    assert region_of(address.removeprefix("https://"), "?") == region


def test_configured_addresses_win(tmp_path: Path) -> None:
    endpoint = "https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com"
    known = credentials(tmp_path, AWS_ENDPOINT_URL_BEDROCK_RUNTIME=f"{endpoint}/", AWS_REGION="us-east-1")
    assert known.address(ADDRESS) == endpoint
    assert known.address("https://gateway.example.com") == "https://gateway.example.com"


@pytest.mark.parametrize("text", ["ABSKQmVkcm9jaw==", "bedrock-api-key-x:y", "", "AKIA:short"])
def test_other_keys_are_bearer_tokens(text: str) -> None:
    assert parse_key(text) is None
