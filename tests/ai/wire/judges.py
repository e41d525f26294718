"""The vendors' own clients as judges of requests: each raises for a body that it would not send."""

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pytest

Judge: TypeAlias = Callable[[dict[str, Any]], None]

PARAMS = {
    "openai-responses": ("openai.types.responses.response_create_params", "ResponseCreateParamsStreaming"),
    "openai-completions": (
        "openai.types.chat.completion_create_params",
        "CompletionCreateParamsStreaming",
    ),
    "anthropic-messages": ("anthropic.types.message_create_params", "MessageCreateParamsStreaming"),
}
# What our servers take and the client's types do not list.
EXTENSIONS = {
    "openai-completions": ("reasoning_details", "reasoning_content"),
    "anthropic-messages": ("temperature",),
}
MISSING = "the vendor's client is not installed (extra judges)"


def judge_of(name: str) -> Judge:
    """The judge of a dialect, or of `mistral`, whose requests are a variety of `openai-completions`."""
    others = {
        "google-generative-ai": google_judge,
        "bedrock-converse-stream": bedrock_judge,
        "ollama-chat": ollama_judge,
        "mistral": mistral_judge,
    }
    return others[name]() if name in others else typed_judge(name)


def refuses(judge: Judge, body: dict[str, Any]) -> bool:
    try:
        judge(body)
    except Exception:
        return True
    return False


def typed_judge(api: str) -> Judge:
    module, name = PARAMS[api]
    pytest.importorskip(module.partition(".")[0], reason=MISSING)
    pydantic = pytest.importorskip("pydantic", reason=MISSING)
    adapter = pydantic.TypeAdapter(getattr(importlib.import_module(module), name))

    def judge(body: dict[str, Any]) -> None:
        read = plain(adapter.validate_python(body, strict=True))
        # Fields that the types do not have are dropped in reading.
        assert read == without(body, EXTENSIONS.get(api, ())), "a field that the client does not know"

    return judge


def plain(value: Any) -> Any:
    """Iterables are validated when they are read."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float) or value is None:
        return value
    return [plain(item) for item in value]


def without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def google_judge() -> Judge:
    types = pytest.importorskip("google.genai", reason=MISSING).types
    checks: dict[str, Any] = {
        "contents": types.Content,
        "tools": types.Tool,
        "toolConfig": types.ToolConfig,
        "systemInstruction": types.Content,
        "generationConfig": types.GenerationConfig,
    }

    def judge(body: dict[str, Any]) -> None:
        for name, value in body.items():
            for one in value if isinstance(value, list) else [value]:
                checks[name].model_validate_json(msgspec.json.encode(one))
        for group in body.get("tools", ()):
            for tool in group["functionDeclarations"]:
                types.JSONSchema.model_validate(tool["parametersJsonSchema"])
                parsed = types.JSONSchema(**tool["parametersJsonSchema"])
                types.Schema.from_json_schema(json_schema=parsed)

    return judge


def bedrock_judge() -> Judge:
    session = pytest.importorskip("botocore.session", reason=MISSING).Session()
    shape = session.get_service_model("bedrock-runtime").operation_model("ConverseStream").input_shape
    validator = importlib.import_module("botocore.validate").ParamValidator()

    def judge(body: dict[str, Any]) -> None:
        report = validator.validate({"modelId": "m", **body}, shape).generate_report()
        assert report == "", report

    return judge


def mistral_judge() -> Judge:
    models = pytest.importorskip("mistralai.client", reason=MISSING).models

    def judge(body: dict[str, Any]) -> None:
        assert body["stream"] is True
        read = models.ChatCompletionStreamRequest.model_validate(body, strict=True)
        require_same(body, read.model_dump(mode="json", by_alias=True), "")
        ids = [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]
        # Known from the server's refusals; the types do not say it.
        assert all(len(id) == 9 and id.isalnum() for id in ids), ids

    return judge


# What the server takes and the client's types do not list.
OLLAMA_EXTENSIONS = ("truncate", "shift", "id", "index", "tool_call_id")


def ollama_judge() -> Judge:
    client = pytest.importorskip("ollama._client", reason=MISSING)
    types = importlib.import_module("ollama._types")

    def judge(body: dict[str, Any]) -> None:
        sent = without(body, OLLAMA_EXTENSIONS)
        assert sent["stream"] is True
        types.Options.model_validate(sent["options"], strict=True)
        unknown = sent["options"].keys() - types.Options.model_fields.keys()
        assert not unknown, unknown
        assert not sent.keys() - types.ChatRequest.model_fields.keys(), sent.keys()
        tools = list(client._copy_tools(sent.get("tools")))
        messages = list(client._copy_messages(sent["messages"]))
        fields = {**sent, "messages": messages, "tools": tools}
        read = types.ChatRequest(**fields).model_dump(mode="json", exclude_none=True)
        filled = [{key: value for key, value in one.items() if value} for one in sent["messages"]]
        require_same(filled, read["messages"], "messages")
        require_same({**sent, "messages": [], "tools": []}, {**read, "messages": [], "tools": []}, "")
        for tool, known in zip(sent.get("tools") or (), read["tools"], strict=True):
            assert tool["function"]["name"] == known["function"]["name"]
            properties = tool["function"]["parameters"].get("properties") or {}
            assert properties.keys() == (known["function"]["parameters"].get("properties") or {}).keys()

    return judge


def require_same(sent: Any, read: Any, where: str) -> None:
    """Raises unless the client has read all that was sent; it may add defaults."""
    if isinstance(sent, dict) and isinstance(read, dict):
        for key, value in sent.items():
            assert key in read, f"{where}.{key} is a field that the client does not know"
            require_same(value, read[key], f"{where}.{key}")
    elif isinstance(sent, list) and isinstance(read, list):
        assert len(sent) == len(read), where
        for number, (one, other) in enumerate(zip(sent, read, strict=True)):
            require_same(one, other, f"{where}[{number}]")
    else:
        assert sent == read, f"{where}: {sent!r} was read as {read!r}"
