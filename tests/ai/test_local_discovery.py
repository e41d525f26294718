"""Local servers are found by their answers on real sockets; slow or strange ones do no harm."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tau.ai.client import context_warning
from tau.ai.http import HttpTransport
from tau.ai.local.discovery import (
    DEFAULT_ADDRESSES,
    GUESSED_TOKENS,
    DiscoveredServer,
    discover,
    ollama_address,
)
from tau.ai.transport import Response
from tests.support.limits import growing

PATIENT_S = 20  # for tests in which every server answers
HANG = object()

Answer = Any  # what becomes JSON, raw bytes for a whole response, or HANG
Routes = Mapping[str, Answer | Callable[[Any], Answer]]


class LocalServer:
    """Answers `GET /path` and `POST /path` from a table; everything else is 404."""

    def __init__(self, routes: Routes) -> None:
        self.routes = routes
        self.left = asyncio.Event()  # a client left without its answer
        self.place = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                method, path = head.decode().split(" ")[:2]
                length = next(
                    (
                        int(line.split(":")[1])
                        for line in head.decode().lower().split("\r\n")
                        if "content-length" in line
                    ),
                    0,
                )
                sent = json.loads(await reader.readexactly(length)) if length else None
                answer = self.routes.get(f"{method} {path}", b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n")
                answer = answer(sent) if callable(answer) else answer
                if answer is HANG:
                    await reader.read()
                    self.left.set()
                    return
                if not isinstance(answer, bytes):
                    body = json.dumps(answer).encode()
                    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def running(routes: Routes) -> AsyncIterator[LocalServer]:
    local = LocalServer(routes)
    server = await asyncio.start_server(local.serve, "127.0.0.1", 0)
    local.place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield local
    finally:
        server.close()  # without waiting: some connections are meant to hang


async def look(
    servers: Mapping[str, Routes],
    environ: Mapping[str, str] | None = None,
    timeout_s: float = PATIENT_S,
    num_ctx: int = 0,
    images: Sequence[str] = (),
) -> list[DiscoveredServer]:
    http = HttpTransport({})
    async with AsyncExitStack() as stack:
        places = {
            id: (await stack.enter_async_context(running(routes))).place for id, routes in servers.items()
        }
        found = await discover(http, environ or {}, timeout_s, places, num_ctx, images)
        await http.close()
        return found


def run(work: Coroutine[Any, Any, list[DiscoveredServer]]) -> list[DiscoveredServer]:
    return asyncio.run(work)


OLLAMA: Routes = {
    "GET /api/tags": {
        "models": [{"name": "qwen3:8b"}, {"name": "gemma3:4b"}, {"name": "nomic-embed-text:latest"}]
    },
    "GET /api/ps": {"models": [{"name": "gemma3:4b", "context_length": 32768}]},
    "POST /api/show": lambda sent: {
        "qwen3:8b": {
            "capabilities": ["completion", "tools", "thinking"],
            "parameters": 'stop    "<|im_end|>"\nnum_ctx    20000',
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
        },
        "gemma3:4b": {
            "capabilities": ["completion", "vision"],
            "model_info": {"gemma3.context_length": 131072},
        },
        "nomic-embed-text:latest": {"capabilities": ["embedding"]},
    }[sent["model"]],
}


def test_ollama_reports_models_context_sizes_and_abilities() -> None:
    (found,) = run(look({"ollama": OLLAMA}))
    assert (found.provider, found.name, found.note) == ("ollama", "Ollama", "")
    qwen, gemma = found.models
    assert (qwen.id, qwen.context_window, qwen.reasoning, qwen.input) == ("qwen3:8b", 20000, True, ("text",))
    assert (gemma.id, gemma.context_window, gemma.input) == ("gemma3:4b", 32768, ("text", "image"))
    assert qwen.api == "ollama-chat" and qwen.base_url.endswith("/v1") and not qwen.demo
    assert qwen.compat.text_calls and not qwen.compat.think_tags and gemma.compat.think_tags == "written"
    assert found.model_notes == {"gemma3:4b": "gemma3:4b cannot call tools."}


def test_context_size_of_ollama_is_the_users_choice_up_to_the_models_limit() -> None:
    (found,) = run(look({"ollama": OLLAMA}, num_ctx=65_536))
    assert [(one.context_window, one.compat.num_ctx) for one in found.models] == [
        (40_960, 40_960),
        (65_536, 65_536),
    ]
    (found,) = run(
        look({"vllm": {"GET /v1/models": {"data": [{"id": "m", "max_model_len": 9000}]}}}, num_ctx=5)
    )
    assert (found.models[0].context_window, found.models[0].compat.num_ctx) == (9000, 0)


def test_gpt_oss_in_ollama_thinks_in_levels() -> None:
    routes = {
        "GET /api/tags": {"models": [{"name": "gpt-oss:20b"}]},
        "POST /api/show": {
            "capabilities": ["completion", "tools", "thinking"],
            "model_info": {"general.architecture": "gptoss", "gptoss.context_length": 131072},
        },
    }
    (found,) = run(look({"ollama": routes}))
    assert found.models[0].thinking_levels() == ("low", "medium", "high")


def test_sglang_reports_context_images_and_thinking() -> None:
    routes = {
        "GET /v1/models": {"data": [{"id": "org/model", "max_model_len": 65536, "owned_by": "sglang"}]},
        "GET /model_info": {
            "model_path": "org/model",
            "reasoning_parser": "qwen3",
            "has_image_understanding": True,
        },
    }
    (found,) = run(look({"sglang": routes}))
    (one,) = found.models
    assert (one.context_window, one.reasoning, one.input) == (65536, True, ("text", "image"))
    assert one.compat.think_tags == "" and one.compat.thinking_field == "same"
    assert run(look({"sglang": {"GET /v1/models": routes["GET /v1/models"]}})) == []
    older = {"model_path": "org/model", "context_length": 4_000, "enable_multimodal": None}
    (found,) = run(look({"sglang": {**routes, "GET /model_info": [], "GET /get_server_info": older}}))
    assert (found.models[0].reasoning, found.models[0].input) == (False, ("text",))


def test_small_ollama_context_is_assumed_and_noted() -> None:
    routes = {"GET /api/tags": {"models": [{"name": "llama3:8b"}]}}
    (found,) = run(look({"ollama": routes}))
    assert found.models[0].context_window == GUESSED_TOKENS
    assert "4,096 tokens" in found.note and "local.numCtx" in found.note


def test_ollama_context_variable_is_used_up_to_the_models_limit() -> None:
    routes = {
        "GET /api/tags": {"models": [{"name": "a"}, {"name": "b"}]},
        "POST /api/show": lambda sent: {
            "model_info": {"x.context_length": 8192 if sent["model"] == "a" else 65536}
        },
    }
    (found,) = run(look({"ollama": routes}, {"OLLAMA_CONTEXT_LENGTH": "32768"}))
    assert [model.context_window for model in found.models] == [8192, 32768]


def test_lm_studio_reports_the_loaded_context_and_embeddings_are_skipped() -> None:
    routes = {
        "GET /v1/models": {"data": [{"id": "qwen"}, {"id": "seeing"}, {"id": "embed"}]},
        "GET /api/v0/models": {
            "data": [
                {"id": "qwen", "type": "llm", "max_context_length": 131072, "loaded_context_length": 16384},
                {"id": "seeing", "type": "vlm", "max_context_length": 2048, "capabilities": []},
                {"id": "embed", "type": "embeddings"},
            ]
        },
    }
    (found,) = run(look({"lm-studio": routes}))
    assert [(model.id, model.context_window) for model in found.models] == [("qwen", 16384), ("seeing", 2048)]
    assert "image" in found.models[1].input
    assert list(found.model_notes) == ["seeing"]


def test_older_lm_studio_is_found_too() -> None:
    (found,) = run(look({"lm-studio": {"GET /v1/models": {"data": [{"id": "qwen"}]}}}))
    assert found.models[0].key == "lm-studio/qwen"
    assert "LM Studio" in found.note


LLAMA_LIST = {"data": [{"id": "/models/qwen.gguf", "meta": {"n_ctx_train": 131072}}]}


def test_llama_cpp_reports_its_context_and_image_support() -> None:
    props = {
        "default_generation_settings": {"n_ctx": 24576},
        "modalities": {"vision": True},
        "chat_template_caps": {"supports_tools": True},
    }
    (found,) = run(look({"llama.cpp": {"GET /v1/models": LLAMA_LIST, "GET /props": props}}))
    (model,) = found.models
    assert (model.id, model.name) == ("/models/qwen.gguf", "qwen")
    assert model.context_window == 24576
    assert "image" in model.input and found.note == ""


def test_chat_template_without_tools_is_noted() -> None:
    props = {"default_generation_settings": {"n_ctx": 32768}, "chat_template_caps": {"supports_tools": False}}
    (found,) = run(look({"llama.cpp": {"GET /v1/models": LLAMA_LIST, "GET /props": props}}))
    assert "--jinja" in found.note


def test_vllm_reports_its_context() -> None:
    routes = {"GET /v1/models": {"data": [{"id": "org/model", "max_model_len": 32768, "owned_by": "vllm"}]}}
    (found,) = run(look({"vllm": routes}))
    assert (found.models[0].context_window, found.models[0].max_tokens, found.note) == (32768, 8192, "")


def test_vllm_hides_whether_models_take_images_and_a_setting_says_so() -> None:
    listing = {"data": [{"id": "org/model-vl", "max_model_len": 32768}, {"id": "org/model"}]}
    (found,) = run(look({"vllm": {"GET /v1/models": listing}}, images=["*-vl"]))
    assert [model.input for model in found.models] == [("text", "image"), ("text",)]
    assert all(model.compat.hides_abilities for model in found.models)


def test_servers_come_in_a_fixed_order() -> None:
    listing = {"GET /v1/models": {"data": [{"id": "m", "max_model_len": 32768}]}}
    found = run(look({"vllm": listing, "ollama": OLLAMA, "llama.cpp": listing}))
    assert [server.provider for server in found] == ["vllm", "ollama", "llama.cpp"]


def test_nothing_is_found_where_nothing_listens() -> None:
    async def main() -> list[DiscoveredServer]:
        async with running({}) as gone:
            places = dict.fromkeys(DEFAULT_ADDRESSES, gone.place)
        return await discover(HttpTransport({}), {}, PATIENT_S, places)

    assert run(main()) == []


def test_unresponsive_server_blocks_nobody_and_is_disconnected() -> None:
    async def main() -> list[DiscoveredServer]:
        http = HttpTransport({})
        async with (
            running({"GET /api/tags": HANG}) as silent,
            running({"GET /v1/models": {"data": [{"id": "m"}]}}) as good,
        ):
            found = await discover(http, {}, 1.5, {"ollama": silent.place, "vllm": good.place})
            await silent.left.wait()
        await http.close()
        return found

    assert [server.provider for server in run(main())] == ["vllm"]


def test_partial_answers_are_kept_on_timeout() -> None:
    routes = {"GET /api/tags": {"models": [{"name": "slow"}]}, "GET /api/ps": HANG, "POST /api/show": HANG}
    for limit_s in growing(1.5):
        found = run(look({"ollama": routes}, timeout_s=limit_s))
        if found:
            break
    assert [model.id for server in found for model in server.models] == ["slow"]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 401 No\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        b"\xff\xfe not http at all",
        {"data": "not a list"},
        {"data": [{"id": 7}]},
        ["unexpected"],
        None,
    ],
)
def test_other_programs_on_the_usual_ports_are_ignored(answer: Answer) -> None:
    routes = {"GET /v1/models": answer, "GET /api/tags": answer}
    assert run(look(dict.fromkeys(DEFAULT_ADDRESSES, routes), timeout_s=1)) == []


def test_server_without_models_is_found_and_says_so() -> None:
    (found,) = run(look({"ollama": {"GET /api/tags": {"models": []}}}))
    assert found.models == [] and "no chat model" in found.note


def test_very_long_list_is_cut() -> None:
    routes = {"GET /v1/models": {"data": [{"id": f"m{number}"} for number in range(300)]}}
    (found,) = run(look({"vllm": routes}))
    assert len(found.models) == 100


def test_only_the_first_eight_models_are_queried() -> None:
    asked: list[str] = []

    def details(sent: Any) -> Any:
        asked.append(sent["model"])
        return {}

    routes = {
        "GET /api/tags": {"models": [{"name": f"m{number}"} for number in range(12)]},
        "POST /api/show": details,
    }
    (found,) = run(look({"ollama": routes}))
    assert (len(found.models), sorted(asked)) == (12, [f"m{number}" for number in range(8)])


def test_only_valid_context_lengths_are_used() -> None:
    routes = {
        "GET /api/tags": {"models": [{"name": "a"}]},
        "POST /api/show": {
            "parameters": "temperature 7\nnum_ctx many",
            "model_info": {"x.context_length": "large", "x.head_count": 99, "y.context_length": 2048},
        },
    }
    (found,) = run(look({"ollama": routes}))
    assert found.models[0].context_window == 2048


def test_llama_cpp_with_several_models_keeps_its_listed_values() -> None:
    routes = {
        "GET /v1/models": {
            "data": [{"id": "a", "meta": {"n_ctx": 1000}}, {"id": "b", "meta": {"n_ctx_train": 2000}}]
        },
        "GET /props": {"default_generation_settings": {"n_ctx": 9999}, "modalities": {"vision": True}},
    }
    (found,) = run(look({"llama.cpp": routes}))
    assert [(model.context_window, model.input) for model in found.models] == [
        (1000, ("text",)),
        (2000, ("text",)),
    ]


@pytest.mark.parametrize(
    ("window", "answer"), [(512, 256), (1024, 256), (1028, 257), (65_536, 16_384), (200_000, 16_384)]
)
def test_answer_may_take_a_quarter_of_the_window_within_bounds(window: int, answer: int) -> None:
    routes = {"GET /v1/models": {"data": [{"id": "a", "max_model_len": window}]}}
    (found,) = run(look({"vllm": routes}))
    assert (found.models[0].context_window, found.models[0].max_tokens) == (window, answer)


@pytest.mark.parametrize(("window", "noted"), [(16_383, True), (16_384, False)])
def test_context_below_sixteen_thousand_tokens_is_called_small(window: int, noted: bool) -> None:
    rows = [{"id": "a", "max_model_len": window}, {"id": "b", "max_model_len": 99_999}]
    routes = {"GET /v1/models": {"data": rows}}
    (found,) = run(look({"vllm": routes}))
    assert (f"{window:,} tokens" in found.note) == noted


class BrokenTransport:
    """Fails in ways the contract does not know."""

    def open(self, *args: object, **options: object) -> AbstractAsyncContextManager[Response]:
        raise RuntimeError("broken")

    async def close(self) -> None: ...


def test_discovery_never_raises() -> None:
    assert run(discover(BrokenTransport(), {})) == []


def test_outside_cancellation_is_not_swallowed() -> None:
    async def main() -> None:
        http = HttpTransport({})
        async with running({"GET /api/tags": HANG}) as silent:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await discover(http, {}, PATIENT_S, {"ollama": silent.place})
            await silent.left.wait()
        await http.close()

    asyncio.run(main())


def test_only_this_machine_is_queried_by_default() -> None:
    assert all(place.startswith("http://127.0.0.1:") for place in DEFAULT_ADDRESSES.values())


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("", "http://usual"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8000", "http://127.0.0.1:8000"),
        (":5000", "http://127.0.0.1:5000"),
        ("gpu.lan", "http://gpu.lan:11434"),
        ("gpu.lan:1", "http://gpu.lan:1"),
        ("http://gpu.lan", "http://gpu.lan:80"),
        ("https://gpu.lan/ollama/", "https://gpu.lan:443/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::]", "http://127.0.0.1:11434"),
        (' "10.0.0.2:9" ', "http://10.0.0.2:9"),
    ],
)
def test_ollama_variable_is_parsed_like_ollama_does(given: str, place: str) -> None:
    assert ollama_address({"OLLAMA_HOST": given}, "http://usual") == place


def test_ollama_variable_changes_the_address() -> None:
    async def main() -> list[DiscoveredServer]:
        http = HttpTransport({})
        async with running(OLLAMA) as moved:
            host = moved.place.removeprefix("http://")
            found = await discover(http, {"OLLAMA_HOST": host}, PATIENT_S, {"ollama": "http://127.0.0.1:1"})
        await http.close()
        return found

    assert [server.provider for server in run(main())] == ["ollama"]


@pytest.mark.parametrize(
    ("served", "estimate", "reported", "words"),
    [
        (4096, 9000, None, "about 9,000 tokens, but the server holds 4,096"),
        (None, 9000, 4000, "read only 4,000 of about 9,000"),
        (8192, 9000, 4000, "read only 4,000 of about 9,000"),
        (4096, 4000, None, None),
        (None, 9000, None, None),
        (None, 9000, 0, None),  # a server that does not count
        (None, 9000, 6000, None),  # an estimate is only an estimate
        (4096, 4300, 3900, None),
        (None, 900, 100, None),  # too little to be worth a word
    ],
)
def test_context_that_is_too_small_is_noted(
    served: int | None, estimate: int, reported: int | None, words: str | None
) -> None:
    warning = context_warning(served, estimate, reported)
    assert warning is None if words is None else words in (warning or "")
