"""Settings files without secrets, in every spelling that the programs accept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.backends.sandbox import redacted_files
from tau.backends.sandbox.redacted_files import redact

SECRET = "s3cr3tVALUE99"
SPELLINGS = {
    "Bundler, by host": ("", 'BUNDLE_GEMS__X__COM: "u:@"\n'),
    "Bundler, GitHub": ("", '---\nBUNDLE_GITHUB__COM: "@:x-oauth-basic"\n'),
    "Cargo, inline table": (".toml", 'registries = { x = { token = "@" } }\n'),
    "TOML, on several lines": (".toml", 'token = """\n@"""\n'),
    "Anaconda, in the path": ("", "channels:\n  - https://h/t/@/ch\n"),
    "Git, header in an alias": ("", '[alias]\n\tx = !curl -H "PRIVATE-TOKEN: @" x\n'),
    "Git, continued line": ("", '[http "https://x/"]\n\textraHeader = \\\nX-Foo: @\n'),
    "Git, proxy without a protocol": ("", "[http]\n\tproxy = u:@@p:1\n"),
    "Git, on the line of the section": ("", "[github] token = @\n"),
    "Git, protocol in capitals": ("", '[url "HTTPS://@@github.com/"]\n\tinsteadOf = gh:\n'),
    "Gradle, colon": (".properties", "nexusPassword:@\n"),
    "Gradle, blank": (".properties", "nexusPassword @\n"),
    "Gradle, continued line": (".properties", "nexusPassword=\\\n@\n"),
    "Maven, CDATA": (".xml", "<server><password><![CDATA[@]]></password></server>"),
    "Maven, comment": (".xml", "<password><!-- x -->@</password>"),
    "Maven, header": (".xml", "<property><name>Authorization</name><value>Bearer @</value></property>"),
    "NuGet, value first": (".Config", '<add value="@" key="ClearTextPassword" />'),
    "npm, client key": ("", 'key="-----BEGIN PRIVATE KEY-----\\n@"\n'),
    "Terraform, one line": ("", 'credentials "app.terraform.io" { token = "@" }\n'),
    "Yarn 1": ("", '"//r/:_authToken" "@"\n'),
    "Yarn, flow": (".yml", 'npmRegistries: {"//r": {npmAuthToken: @}}\n'),
    "Yarn, block": (".yml", "npmAuthToken: >-\n  @\n"),
}
ORDINARY = {
    "Git": (
        "",
        "[user]\n\tname = A\n\tsigningkey = 0xABC\n[credential]\n\thelper = store\n[core] editor = vi\n"
        '[alias]\n\tx = "!f() { git log; }; f"\n',
    ),
    "npm": ("", "registry=https://r.example/\n//r.example/:_authToken=${NPM_TOKEN}\n"),
    "Bundler": ("", 'BUNDLE_PATH: "vendor"\nBUNDLE_BUILD__NOKOGIRI: "--use-system-libraries"\n'),
    "Gradle": (".properties", "org.gradle.jvmargs=-Xmx2g -XX:+UseG1GC\n"),
    "Cargo": (".toml", '[build]\nrustflags = ["-C", "target-cpu=native"]\n'),
    "Maven": (".xml", "<settings><mirrors><mirror><id>a</id></mirror></mirrors></settings>"),
    "Conda": ("", "channels:\n  - https://h/ch\n"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_no_spelling_of_a_secret_is_shown(name: str) -> None:
    suffix, text = SPELLINGS[name]
    assert SECRET not in redact(text.replace("@", SECRET, 1), suffix)


@pytest.mark.parametrize("name", ORDINARY)
def test_settings_without_secrets_are_shown_as_they_are(name: str) -> None:
    suffix, text = ORDINARY[name]
    assert redact(text, suffix) == text


def test_block_of_terraform_stays_valid() -> None:
    text = f'credentials "app.terraform.io" {{\n  token = "{SECRET}"\n}}\n'
    assert redact(text) == 'credentials "app.terraform.io" {\n}\n'


PIECES = (
    *(
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "=",
        ":",
        " ",
        "\t",
        "\n",
        "#",
        "<",
        "/>",
        "</",
        ">",
        "\\\n",
        ",",
        "-",
        "_",
    ),
    *("://", "https://", "ssh://", "@", "/t/", "/T/", "x", "A", "Proxy", "proxy = ", "name", "value", "add "),
    *("_auth", "Authorization:", "PRIVATE-TOKEN:", "PRIVATE KEY-----", "BUNDLE_", "GEMS__X", "extraHeader"),
    *(
        "username",
        "privatekey",
        "passphrase",
        "authident",
        "Password",
        "pwd",
        "secret",
        "TOKEN",
        "credentials",
    ),
    *("api_key", "signingkey", "pass", "\u017f", "\u212a", "\u0131"),
)


@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.sampled_from(["", ".xml", ".toml", ".yml"]),
)
def test_quick_look_misses_no_secret(text: str, suffix: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redacted_files, "_may_have_secrets", lambda text: True)
        closely = redact(text, suffix)
    assert redact(text, suffix) == closely


@pytest.mark.parametrize("name", SPELLINGS)
def test_quick_look_sees_every_spelling(name: str) -> None:
    _, text = SPELLINGS[name]
    assert redacted_files._may_have_secrets(text.replace("@", SECRET, 1))
