"""Add a provider of models."""

from tau.ext import ExtensionAPI


def extension(tau: ExtensionAPI) -> None:
    tau.provider(
        "lab",
        base_url="http://127.0.0.1:9000/v1",
        api="openai-completions",
        api_key="LAB_KEY",
        models=[{"id": "lab-large", "context_window": 64_000}],
    )
