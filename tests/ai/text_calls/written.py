"""Random answers with calls, in the formats in which models write them."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tau.ai.dialect import ToolSpec

Calls = list[tuple[str, dict[str, Any]]]

READ = ToolSpec(
    "read",
    "Reads.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer"},
            "all": {"type": "boolean"},
            "kinds": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["path"],
    },
)
WRITE = ToolSpec(
    "write_file",
    "Writes.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "mode": {"type": "string", "enum": ["new", "append"]},
        },
        "required": ["path", "content"],
    },
)
TOOLS = [READ, WRITE]
WORDS = ("a.py", "src", "é", "\U0001f600", "x y", '"quoted"', "<b>", "[1]", "{}", "a\\b", "12", "true", "'")
LINES = (*WORDS, "def f(x):\n    return x", "# title\n\ntext", "if a < b && c > d:")


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def calls(random: Random, count: int) -> Calls:
    found: Calls = []
    for _ in range(count):
        if random.random() < 0.5:
            arguments: dict[str, Any] = {"path": text(random, WORDS)}
            if random.random() < 0.5:
                arguments["limit"] = random.randint(-5, 5000)
            if random.random() < 0.3:
                arguments["all"] = random.random() < 0.5
            if random.random() < 0.3:
                arguments["kinds"] = [text(random, WORDS) for _ in range(random.randint(0, 2))]
            found.append(("read", arguments))
        else:
            arguments = {"path": text(random, WORDS), "content": text(random, LINES)}
            if random.random() < 0.3:
                arguments["mode"] = random.choice(("new", "append"))
            found.append(("write_file", arguments))
    return found


def worded(calls: Calls) -> Calls:
    """The same calls without texts that are JSON too: SGLang's GLM detector changes those."""
    return [
        (name, {key: f"the {value}" if key in ("path", "content") else value for key, value in given.items()})
        for name, given in calls
    ]


def text(random: Random, words: tuple[str, ...]) -> str:
    return " ".join(random.choices(words, k=random.randint(1, 4)))


def plain(value: Any) -> str:
    return value if isinstance(value, str) else dump(value)


def hermes(calls: Calls) -> str:
    return "\n".join(
        f"<tool_call>\n{dump({'name': name, 'arguments': given})}\n</tool_call>" for name, given in calls
    )


def qwen(calls: Calls) -> str:
    blocks = []
    for name, given in calls:
        parameters = "".join(
            f"<parameter={key}>\n{plain(value)}\n</parameter>\n" for key, value in given.items()
        )
        blocks.append(f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
    return "\n".join(blocks)


def glm(calls: Calls) -> str:
    blocks = []
    for name, given in calls:
        pairs = "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{plain(value)}</arg_value>\n"
            for key, value in given.items()
        )
        blocks.append(f"<tool_call>{name}\n{pairs}</tool_call>")
    return "\n".join(blocks)


def mistral(calls: Calls) -> str:
    return "[TOOL_CALLS] " + dump([{"name": name, "arguments": given} for name, given in calls])


def mistral_compact(calls: Calls) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{dump(given)}" for name, given in calls)


def llama(calls: Calls) -> str:
    return "<|python_tag|>" + "; ".join(dump({"name": name, "parameters": given}) for name, given in calls)


def python(calls: Calls) -> str:
    written = (
        f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})" for name, given in calls
    )
    return f"[{', '.join(written)}]"


def deepseek(calls: Calls) -> str:
    blocks = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dump(given)}\n```<｜tool▁call▁end｜>"
        for name, given in calls
    )
    return f"<｜tool▁calls▁begin｜>{blocks}<｜tool▁calls▁end｜>"


def deepseek_31(calls: Calls) -> str:
    blocks = "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dump(given)}<｜tool▁call▁end｜>" for name, given in calls
    )
    return f"<｜tool▁calls▁begin｜>{blocks}<｜tool▁calls▁end｜>"


def invokes(prefix: str, calls: Calls, *, typed: bool) -> str:
    blocks = []
    for name, given in calls:
        parameters = "\n".join(
            f'<{prefix}parameter name="{key}"'
            f"{f' string={dump(dump(isinstance(value, str)))}' if typed else ''}>"
            f"{plain(value)}</{prefix}parameter>"
            for key, value in given.items()
        )
        blocks.append(f'<{prefix}invoke name="{name}">\n{parameters}\n</{prefix}invoke>')
    return "\n".join(blocks)


def deepseek_32(calls: Calls) -> str:
    written = invokes("｜DSML｜", calls, typed=True)
    return f"<｜DSML｜function_calls>\n{written}\n</｜DSML｜function_calls>"


def minimax(calls: Calls) -> str:
    return f"<minimax:tool_call>\n{invokes('', calls, typed=False)}\n</minimax:tool_call>"


def kimi(calls: Calls) -> str:
    blocks = "".join(
        f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{dump(given)}<|tool_call_end|>"
        for number, (name, given) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{blocks}<|tool_calls_section_end|>"


def harmony(calls: Calls) -> str:
    return "".join(
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{dump(given)}<|call|>"
        for name, given in calls
    )


def bare(calls: Calls) -> str:
    return "; ".join(dump({"name": name, "parameters": given}) for name, given in calls)


# By format: how calls are written, SGLang's detector, and whether text may come first.
FORMATS: dict[str, tuple[Callable[[Calls], str], str, bool]] = {
    "hermes": (hermes, "hermes_detector.HermesDetector", True),
    "qwen": (qwen, "qwen3_coder_detector.Qwen3CoderDetector", True),
    "glm": (glm, "glm4_moe_detector.Glm4MoeDetector", True),
    "mistral": (mistral, "mistral_detector.MistralDetector", True),
    "mistral-compact": (mistral_compact, "mistral_detector.MistralDetector", True),
    "llama": (llama, "llama32_detector.Llama32Detector", True),
    "json": (bare, "llama32_detector.Llama32Detector", False),
    "python": (python, "pythonic_detector.PythonicDetector", False),
    "deepseek": (deepseek, "deepseekv3_detector.DeepSeekV3Detector", True),
    "deepseek-3.1": (deepseek_31, "deepseekv31_detector.DeepSeekV31Detector", True),
    "deepseek-3.2": (deepseek_32, "deepseekv32_detector.DeepSeekV32Detector", True),
    "kimi": (kimi, "kimik2_detector.KimiK2Detector", True),
    "minimax": (minimax, "minimax_m2.MinimaxM2Detector", True),
    "harmony": (harmony, "gpt_oss_detector.GptOssDetector", False),
}


def written(random: Random, name: str, *, count: int | None = None) -> tuple[str, Calls]:
    """A random answer in a format, and the calls in it."""
    write, _, takes_text = FORMATS[name]
    made = calls(random, count or random.randint(1, 3))
    made = worded(made) if name == "glm" else made
    lead = random.choice(("", "", "I will look.\n", "First:\n\n")) if takes_text else ""
    return lead + write(made), made
