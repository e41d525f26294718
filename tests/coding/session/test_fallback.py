"""Fallback models replace one that cannot be used."""

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


def test_exhausted_retries_switch_to_the_next_model_of_the_chain() -> None:
    driver = Driver([[Fail(busy())], [Fail(busy())], [Say("Here.")]], retry=impatient())
    outcome = go(driver)
    assert outcome.error is None
    assert used(driver) == ["faux", "faux", "a"]
    assert driver.events_about("retry") == [
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
    assert driver.notices == ["busy, come back. Switching to other/a."]
    assert driver.log.context().model == ("other", "a")


@pytest.mark.parametrize(
    "error", [busy(retry_after=3600), busy(quota=True), ProviderError("pay", quota=True)]
)
def test_long_wait_or_exhausted_quota_switches_at_once(error: ProviderError) -> None:
    driver = Driver([[Fail(error)], [Say("Here.")]], retry=impatient())
    assert go(driver).error is None
    assert used(driver) == ["faux", "a"]
    assert driver.events_about("auto_retry") == []


@pytest.mark.parametrize("error", [ProviderError("bad key", status=401), ProviderError("no", status=404)])
def test_fatal_failure_is_not_hidden_by_a_fallback(error: ProviderError) -> None:
    driver = Driver([[Fail(error)]], retry=impatient())
    assert go(driver).error is error
    assert used(driver) == ["faux"]


def test_failure_is_reported_after_the_whole_chain() -> None:
    driver = Driver([[Fail(busy())]], retry=impatient(max_retries=0))
    outcome = go(driver)
    assert str(outcome.error) == "busy, come back"
    assert used(driver) == ["faux", "a", "b"]


def test_unusable_models_are_skipped() -> None:
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
def test_chain_belongs_to_a_model_a_pattern_or_a_role(
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
def test_without_a_chain_the_failure_is_final(fields: dict[str, Any]) -> None:
    driver = Driver([[Fail(busy())]], retry=impatient(max_retries=0, **fields))
    assert go(driver).error is not None
    assert used(driver) == ["faux"]


def test_first_model_returns_after_its_cooldown() -> None:
    script: list[list[FauxStep]] = [[Fail(busy(retry_after=3600))], [Say("1")], [Say("2")], [Say("3")]]
    driver = Driver(script, retry=impatient())
    clock = [1_000_000]
    driver.fallbacks.clock_ms = lambda: clock[0]
    go(driver)
    clock[0] += 3_599_000
    go(driver)
    assert used(driver)[-1] == "a"
    clock[0] += 1_000
    go(driver)
    assert used(driver)[-1] == "faux"
    assert driver.notices[-1] == "Back to faux/faux."
    assert driver.log.context().model == ("faux", "faux")


def test_default_cooldown_is_five_minutes() -> None:
    driver = Driver([[Fail(busy())], [Say("1")], [Say("2")]], retry=impatient(max_retries=0))
    clock = [1_000_000]
    driver.fallbacks.clock_ms = lambda: clock[0]
    for wait_ms, model in ((0, "a"), (299_999, "a"), (1, "faux")):
        clock[0] += wait_ms
        go(driver)
        assert used(driver)[-1] == model


def test_revert_policy_never_keeps_the_fallback() -> None:
    driver = Driver(
        [[Fail(busy())], [Say("1")]], retry=impatient(max_retries=0, fallback_revert_policy="never")
    )
    go(driver)
    driver.fallbacks.clock_ms = lambda: 10**15
    go(driver)
    assert used(driver)[-1] == "a"


def test_resumed_session_reverts_to_its_model(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    driver = Driver([[Fail(busy(retry_after=3600))], [Say("1")]], retry=impatient(), log=log)
    go(driver)
    path = log.path
    log.close()
    assert path is not None

    def resolve(pattern: str) -> Model:
        return FAUX_MODEL if pattern == "faux/faux" else other_model(pattern)

    for late, enabled, model in ((False, True, "a"), (True, False, "a"), (True, True, "faux")):
        again = Driver(
            [[Say("2")]],
            retry=impatient(model_fallback=enabled),
            log=SessionLog.open(path),
            model=other_model("a"),
            find=resolve,
        )
        if late:
            again.fallbacks.clock_ms = lambda: 10**15
        go(again)
        assert used(again)[-1] == model
        again.log.close()


def test_resumed_session_stays_with_its_fallback_if_the_first_model_is_gone(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    driver = Driver([[Fail(busy(retry_after=3600))], [Say("1")]], retry=impatient(), log=log)
    go(driver)
    log.close()
    assert log.path is not None
    again = Driver(
        [[Say("2")]],
        retry=impatient(model_fallback=True),
        log=SessionLog.open(log.path),
        model=other_model("a"),
        find=lambda _: other_model("similar"),
    )
    again.fallbacks.clock_ms = lambda: 10**15
    go(again)
    assert used(again)[-1] == "a"
    again.log.close()


def test_choosing_a_model_ends_the_fallback() -> None:
    for same in (True, False):
        driver = Driver([[Fail(busy())], [Say("1")], [Say("2")]], retry=impatient(max_retries=0))
        go(driver)
        driver.models.default = other_model("a" if same else "mine")
        if same:
            driver.recovery.on_model_chosen()
        driver.fallbacks.clock_ms = lambda: 10**15
        go(driver)
        assert used(driver)[-1] == ("a" if same else "mine")
        assert not any("Back" in notice for notice in driver.notices)


def test_answer_of_another_model_does_not_count_for_the_fallback() -> None:
    driver = Driver(
        [[Fail(busy())], [Fail(busy())], [Fail(busy())], [Say("1")]], retry=impatient(max_retries=0)
    )
    assert go(driver).error is not None
    driver.models.default = other_model("mine")  # as a move to another branch does
    assert go(driver).error is None
    assert used(driver)[-1] == "mine"
    assert not any(isinstance(event, FallbackSucceeded) for event in driver.events)


def test_fallback_model_gets_a_compatible_history() -> None:
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


def test_model_is_tried_once_even_if_its_cooldown_is_short() -> None:
    driver = Driver([[Fail(busy(retry_after=0))]], retry=impatient(max_retries=0))
    assert go(driver).error is not None
    assert used(driver) == ["faux", "a", "b"]


def test_answer_in_between_makes_a_tried_model_usable_again() -> None:
    fail = Fail(busy(retry_after=0))
    script: list[list[FauxStep]] = [[fail], [Use("echo", text="a")], [fail], [Use("echo", text="b")], [fail]]
    driver = Driver([*script, [Say("Here.")]], retry=impatient(max_retries=0))
    assert go(driver).error is None
    assert used(driver) == ["faux", "a", "a", "b", "b", "a"]


def test_next_prompt_tries_the_whole_chain_again() -> None:
    driver = Driver([[Fail(busy(retry_after=0))]], retry=impatient(max_retries=0))
    for _ in range(2):
        assert go(driver).error is not None
    assert used(driver) == ["faux", "a", "b"] * 2


def test_abort_stops_the_search_for_a_fallback() -> None:
    async def main() -> None:
        driver = Driver([[Fail(busy())]], retry=impatient(max_retries=0))
        abort = Abort()

        async def never(pattern: str) -> Model | None:
            asyncio.get_running_loop().call_soon(abort.abort)
            await asyncio.Event().wait()
            return None

        driver.fallbacks.resolve = never
        outcome = await in_time(driver.prompt(abort=abort))
        assert outcome.aborted
        assert used(driver) == ["faux"]

    asyncio.run(main())


def test_chain_named_after_a_role_replaces_the_model_of_that_role() -> None:
    planner = other_model("planner")
    chains = {"plan": ["b"], "default": ["a"]}
    driver = Driver(
        [[Fail(busy())], [Say("Here.")], [Say("Back.")]],
        retry=impatient(max_retries=0, fallback_chains=chains),
        roles={"plan": planner, "smol": other_model("small")},
    )
    driver.plan.enter()
    assert go(driver).error is None
    assert used(driver) == ["planner", "b"]
    [applied] = [event for event in driver.events if isinstance(event, FallbackApplied)]
    assert (applied.role, applied.from_) == ("plan", planner.key)
    driver.plan.leave()
    assert go(driver).error is None
    assert used(driver) == ["planner", "b", "faux"]


def test_chain_of_a_role_with_another_model_does_not_apply() -> None:
    driver = Driver(
        [[Fail(busy())], [Say("Here.")]],
        retry=impatient(max_retries=0, fallback_chains={"plan": ["b"], "default": ["a"]}),
        roles={"plan": other_model("planner")},
    )
    assert go(driver).error is None
    assert used(driver) == ["faux", "a"]
