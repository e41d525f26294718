"""Other models stand in for one that cannot be used."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from tau.agent.abort import Abort
from tau.agent.events import FallbackApplied, FallbackSucceeded
from tau.ai.catalog import Catalog, ModelRow, Provider, model_from_row
from tau.ai.faux import FAUX_MODEL, Fail, FauxStep, Say, Think, Use
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage
from tau.base.errors import ProviderError, UsageError
from tau.base.run import LocalRunner
from tau.coding.session.fallback import make_resolver
from tau.coding.session.storage.log import SessionLog
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.settings import RetrySettings
from tests.coding.session.driver import Driver, busy, go, in_time, other_model

CHAIN = {"default": ["a", "b"]}


def impatient(**fields: Any) -> RetrySettings:
    return RetrySettings(**{"max_retries": 1, "base_delay_ms": 1, "fallback_chains": CHAIN, **fields})


def test_only_models_with_a_key_are_found(tmp_path: Path) -> None:
    rows = [
        Provider(id="acme", name="Acme", api="x", base_url="http://a", key_variables=["ACME_KEY"]),
        Provider(id="here", name="Here", api="x", base_url="http://b", local=True, headers={"x": "SOME_VAR"}),
    ]
    models = [model_from_row(row, ModelRow(id=id, name=id)) for row in rows for id in ("big", "small")]
    catalog = Catalog({row.id: row for row in rows}, models)
    environ = {"SOME_VAR": "value"}
    run = LocalRunner(shell="/bin/sh")
    credentials = KeyCredentials(catalog, AuthFile(tmp_path / "auth.json"), run, environ)
    resolve = make_resolver(catalog, credentials, environ, run)

    async def found(pattern: str) -> Model | None:
        return await resolve(pattern)

    assert asyncio.run(found("acme/big")) is None
    local = asyncio.run(found("here/small"))
    assert local is not None and local.headers == {"x": "value"}
    environ["ACME_KEY"] = "k"
    keyed = asyncio.run(found("acme/big"))
    assert keyed is not None and keyed.key == "acme/big"
    with pytest.raises(UsageError):
        asyncio.run(found("nonsense"))


def used(driver: Driver) -> list[str]:
    return [message.model for message in driver.log.messages() if isinstance(message, AssistantMessage)]


def test_when_patience_ends_the_next_model_of_the_chain_goes_on() -> None:
    driver = Driver([[Fail(busy())], [Fail(busy())], [Say("Here.")]], retry=impatient())
    outcome = go(driver)
    assert outcome.error is None
    assert used(driver) == ["faux", "faux", "a"]
    assert driver.heard("retry") == [
        "auto_retry_start",
        "auto_retry_end",
        "retry_fallback_applied",
        "retry_fallback_succeeded",
    ]
    [applied] = [event for event in driver.events if isinstance(event, FallbackApplied)]
    assert to_builtins(applied) == {
        "type": "retry_fallback_applied",
        "from": "faux/faux",
        "to": "other/a",
        "role": "default",
    }
    assert driver.told == ["busy, come back. Switching to other/a."]
    assert driver.log.context().model == ("other", "a")


@pytest.mark.parametrize(
    "error", [busy(retry_after=3600), busy(quota=True), ProviderError("pay", quota=True)]
)
def test_a_long_wait_and_a_used_up_quota_go_to_the_chain_at_once(error: ProviderError) -> None:
    driver = Driver([[Fail(error)], [Say("Here.")]], retry=impatient())
    assert go(driver).error is None
    assert used(driver) == ["faux", "a"]
    assert driver.heard("auto_retry") == []


@pytest.mark.parametrize("error", [ProviderError("bad key", status=401), ProviderError("no", status=404)])
def test_a_fatal_failure_is_not_hidden_by_another_model(error: ProviderError) -> None:
    driver = Driver([[Fail(error)]], retry=impatient())
    assert go(driver).error is error
    assert used(driver) == ["faux"]


def test_the_chain_is_followed_to_its_end_and_then_the_failure_stands() -> None:
    driver = Driver([[Fail(busy())]], retry=impatient(max_retries=0))
    outcome = go(driver)
    assert str(outcome.error) == "busy, come back"
    assert used(driver) == ["faux", "a", "b"]


def test_models_that_cannot_be_used_are_passed_over() -> None:
    def resolve(pattern: str) -> Model | None:
        if pattern == "gone":
            raise UsageError("No model matches.")
        return other_model(pattern) if pattern == "b" else FAUX_MODEL if pattern == "self" else None

    chain = {"default": ["gone", "keyless", "self", "b"]}
    driver = Driver(
        [[Fail(busy())], [Say("Here.")]],
        retry=impatient(max_retries=0, fallback_chains=chain),
        find=resolve,
    )
    assert go(driver).error is None
    assert used(driver) == ["faux", "b"]


@pytest.mark.parametrize(
    ("chains", "chosen", "role"),
    [
        ({"default": ["d"], "faux/faux": ["exact"], "faux": ["id"], "fau*": ["glob"]}, "exact", "faux/faux"),
        ({"default": ["d"], "fau*": ["glob"], "faux": ["id"]}, "id", "faux"),
        ({"default": ["d"], "faux/*": ["glob"]}, "glob", "faux/*"),
        ({"smol": ["s"], "default": ["d"]}, "d", "default"),
    ],
)
def test_a_chain_belongs_to_a_model_a_pattern_or_a_role(
    chains: dict[str, list[str]], chosen: str, role: str
) -> None:
    driver = Driver([[Fail(busy())], [Say("Here.")]], retry=impatient(max_retries=0, fallback_chains=chains))
    go(driver)
    assert used(driver)[-1] == chosen
    [succeeded] = [event for event in driver.events if isinstance(event, FallbackSucceeded)]
    assert (succeeded.model, succeeded.role) == (f"other/{chosen}", role)


@pytest.mark.parametrize(
    "fields", [{"enabled": False}, {"model_fallback": False}, {"fallback_chains": {"smol": ["s"]}}]
)
def test_without_a_chain_the_failure_stands(fields: dict[str, Any]) -> None:
    driver = Driver([[Fail(busy())]], retry=impatient(max_retries=0, **fields))
    assert go(driver).error is not None
    assert used(driver) == ["faux"]


def test_the_first_model_comes_back_once_it_has_rested() -> None:
    script: list[list[FauxStep]] = [[Fail(busy(retry_after=3600))], [Say("1")], [Say("2")], [Say("3")]]
    driver = Driver(script, retry=impatient())
    clock = [1_000_000]
    driver.fallbacks._clock_ms = lambda: clock[0]
    go(driver)
    clock[0] += 3_599_000
    go(driver)
    assert used(driver)[-1] == "a"
    clock[0] += 1_000
    go(driver)
    assert used(driver)[-1] == "faux"
    assert driver.told[-1] == "Back to faux/faux."
    assert driver.log.context().model == ("faux", "faux")


def test_a_model_that_names_no_wait_rests_for_five_minutes() -> None:
    driver = Driver([[Fail(busy())], [Say("1")], [Say("2")]], retry=impatient(max_retries=0))
    clock = [1_000_000]
    driver.fallbacks._clock_ms = lambda: clock[0]
    for wait_ms, model in ((0, "a"), (299_999, "a"), (1, "faux")):
        clock[0] += wait_ms
        go(driver)
        assert used(driver)[-1] == model


def test_with_the_policy_never_the_other_model_stays() -> None:
    driver = Driver(
        [[Fail(busy())], [Say("1")]], retry=impatient(max_retries=0, fallback_revert_policy="never")
    )
    go(driver)
    driver.fallbacks._clock_ms = lambda: 10**15
    go(driver)
    assert used(driver)[-1] == "a"


def test_a_resumed_session_finds_its_way_back(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    driver = Driver([[Fail(busy(retry_after=3600))], [Say("1")]], retry=impatient(), log=log)
    go(driver)
    path = log.path
    log.close()
    assert path is not None

    def resolve(pattern: str) -> Model:
        return FAUX_MODEL if pattern == "faux/faux" else other_model(pattern)

    for late, model in ((False, "a"), (True, "faux")):
        again = Driver(
            [[Say("2")]],
            retry=impatient(),
            log=SessionLog.open(path),
            model=other_model("a"),
            find=resolve,
        )
        if late:
            again.fallbacks._clock_ms = lambda: 10**15
        go(again)
        assert used(again)[-1] == model
        again.log.close()


def test_a_users_own_choice_of_a_model_ends_it() -> None:
    for same in (True, False):
        driver = Driver([[Fail(busy())], [Say("1")], [Say("2")]], retry=impatient(max_retries=0))
        go(driver)
        driver.models.default = other_model("a" if same else "mine")
        if same:
            driver.recovery.user_chose_model()
        driver.fallbacks._clock_ms = lambda: 10**15
        go(driver)
        assert used(driver)[-1] == ("a" if same else "mine")
        assert not any("Back" in told for told in driver.told)


def test_the_other_model_gets_a_history_that_it_can_take() -> None:
    script: list[list[FauxStep]] = [
        [Think("Hm", "signed"), Use("echo", id="toolu_1", text="x")],
        [Fail(busy())],
        [Say("Here.")],
    ]
    driver = Driver(script, retry=impatient(max_retries=0))
    assert go(driver).error is None
    asked = driver.faux.requests[-1].messages
    assert "signed" not in str(asked)
    assert [type(message).__name__ for message in asked] == [
        "UserMessage",
        "AssistantMessage",
        "ToolResultMessage",
    ]


def test_a_model_is_tried_once_even_if_its_rest_is_short() -> None:
    driver = Driver([[Fail(busy(retry_after=0))]], retry=impatient(max_retries=0))
    assert go(driver).error is not None
    assert used(driver) == ["faux", "a", "b"]


def test_an_abort_reaches_the_search_for_another_model() -> None:
    async def main() -> None:
        driver = Driver([[Fail(busy())]], retry=impatient(max_retries=0))
        abort = Abort()

        async def never(pattern: str) -> Model | None:
            asyncio.get_running_loop().call_soon(abort.abort)
            await asyncio.Event().wait()
            return None

        driver.fallbacks._resolve = never
        outcome = await in_time(driver.prompt(abort=abort))
        assert outcome.aborted
        assert used(driver) == ["faux"]

    asyncio.run(main())
