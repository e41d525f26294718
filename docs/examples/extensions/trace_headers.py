"""Send a header with each request."""

from tau.ext import BeforeProviderHeaders, ExtensionAPI, ExtensionContext


def extension(tau: ExtensionAPI) -> None:
    team = tau.flag("team", "The team that pays for requests", "unknown")

    @tau.on("before_provider_headers")
    def add(event: BeforeProviderHeaders, ctx: ExtensionContext) -> dict[str, str]:
        return {"X-Team": team}
