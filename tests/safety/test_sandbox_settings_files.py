"""Commands see the user's package manager and Git settings without passwords, and these programs work."""

import shutil
from pathlib import Path

import pytest

from tau.backends.sandbox.redacted_files import redact
from tau.base.run import capture
from tests.safety.sandbox_rig import ENGINES, Inside, Place, in_sandbox

SECRET = "s3cr3tV4lue0123456789"
FILES = {
    ".npmrc": "registry=https://r.example/\n//r.example/:_authToken={}\n_auth={}\n//r.example/:_password={}\n",
    ".yarnrc.yml": 'npmScopes:\n  mine:\n    npmRegistryServer: "https://r.example"\n    npmAuthToken: {}\n',
    ".config/pip/pip.conf": "[global]\ntimeout = 7\nindex-url = https://me:{}@r.example/simple\n",
    ".gitconfig": (
        "[user]\n\tname = Me\n\tsigningKey = ABC\n[http]\n\textraHeader = Authorization: Basic {}\n"
        '[url "https://{}@git.example/"]\n\tinsteadOf = x:\n'
        '[url "ssh://git@git.example/"]\n\tinsteadOf = y:\n'
    ),
    ".m2/settings.xml": "<settings><server><id>a</id><password>{}</password></server></settings>\n",
    ".gradle/gradle.properties": "org.gradle.daemon=true\nrepoPassword={}\n",
    ".cargo/config.toml": '[registries.mine]\nindex = "https://r.example"\ntoken = "{}"\n',
    ".condarc": "channels:\n  - https://me:{}@r.example/c\n",
    ".config/NuGet/NuGet.Config": '<add key="ClearTextPassword" value="{}" /><add key="u" value="kept" />',
    ".bundle/config": '---\nBUNDLE_JOBS: "4"\nBUNDLE_PASSWORD: "{}"\n',
}
HIDDEN = (
    *(".pypirc", ".netrc", ".docker/config.json", ".config/gh/hosts.yml", ".git-credentials", ".kube/config"),
    *(
        ".cargo/credentials.toml",
        ".terraform.d/credentials.tfrc.json",
        ".my.cnf",
        ".config/rclone/rclone.conf",
    ),
    *(".config/composer/auth.json", ".sbt/.credentials", ".config/pypoetry/auth.toml"),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    place = Place(tmp_path)
    for name in (*FILES, *HIDDEN):
        path = place.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES.get(name, "{}\n").replace("{}", SECRET))
    return place


@pytest.mark.parametrize("engine", ENGINES)
def test_commands_read_no_password_from_settings_of_the_user(place: Place, engine: str) -> None:
    names = " ".join(str(place.home / name) for name in (*FILES, *HIDDEN))

    async def work(inside: Inside) -> str:
        return await inside.text(f"cat {names}; env; grep -rs . {place.caches} {place.home}")

    assert SECRET not in in_sandbox(place, work, engine)
    assert all(SECRET in (place.home / name).read_text() for name in FILES)  # the user's own are as before


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "landlock"])
def test_the_rest_of_the_settings_is_shown(place: Place, engine: str) -> None:
    async def work(inside: Inside) -> str:
        return await inside.text("cat " + " ".join(str(place.home / name) for name in FILES))

    text = in_sandbox(place, work, engine)
    for kept in (
        *("registry=https://r.example/", 'npmRegistryServer: "https://r.example"', "timeout = 7"),
        *("index-url = https://r.example/simple", "name = Me", "signingKey = ABC", "ssh://git@git.example/"),
        *("<id>a</id>", "org.gradle.daemon=true", 'index = "https://r.example"', 'value="kept"'),
        *('BUNDLE_JOBS: "4"', "- https://r.example/c"),
    ):
        assert kept in text, kept


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("npm config get registry", "https://r.example/"),
        ("python3 -m pip config list | grep global.timeout", "global.timeout='7'"),
        ("git config user.name", "Me"),
    ],
)
def test_programs_use_the_settings_that_are_shown(
    place: Place, engine: str, command: str, answer: str
) -> None:
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"{command.split()[0]} is not installed")

    async def work(inside: Inside) -> tuple[int | None, str]:
        async with await inside.runner.start(command, cwd=place.project) as process:
            done = await capture(process)
        return done.exit.code, done.output.decode().strip()

    assert in_sandbox(place, work, engine) == (0, answer)


def test_settings_without_passwords_are_left_as_they_are(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.home / ".npmrc").write_text("registry=https://r.example/\n//r.example/:_authToken=${NPM_TOKEN}\n")
    before = (place.home / ".npmrc").stat().st_ino

    async def work(inside: Inside) -> str:
        return await inside.text(f"stat -c %i {place.home}/.npmrc")

    assert in_sandbox(place, work) == f"{before}\n"


def test_settings_named_by_a_variable_are_redacted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    for name, variable in (("own/npmrc", "npm_config_userconfig"), ("xdg/pip/pip.conf", "")):
        path = place.home / name
        path.parent.mkdir(parents=True)
        path.write_text(f"timeout=7\npassword={SECRET}\n")
        if variable:
            monkeypatch.setenv(variable, str(path))
    (place.home / "xdg/gh").mkdir()
    (place.home / "xdg/gh/hosts.yml").write_text(SECRET)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place.home / "xdg"))

    async def work(inside: Inside) -> str:
        return await inside.text(f"cat {place.home}/own/npmrc {place.home}/xdg/*/*")

    text = in_sandbox(place, work)
    assert SECRET not in text
    assert text.count("timeout=7") == 2


def test_settings_that_are_kept_in_the_workspace_are_shown_as_they_are(tmp_path: Path) -> None:
    """A repository of settings files, with links to them in the home folder."""
    place = Place(tmp_path)
    (place.project / "yarnrc.yml").write_text(f"npmAuthToken: {SECRET}\n")
    (place.home / ".yarnrc.yml").symlink_to(place.project / "yarnrc.yml")

    async def work(inside: Inside) -> str:
        return await inside.text("cat yarnrc.yml && echo a: b >> yarnrc.yml")

    assert in_sandbox(place, work) == f"npmAuthToken: {SECRET}\n"
    assert (place.project / "yarnrc.yml").read_text().endswith("a: b\n")


def test_comments_and_other_settings_are_kept() -> None:
    text = "# token: see the basic settings\nlocation=here\nkeyboard=us\ntokens = 3\n"
    assert redact(text) == text
    assert redact('npmAuthToken: "x1"\n', ".yml") == 'npmAuthToken: ""\n'
