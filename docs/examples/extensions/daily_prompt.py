"""Add the date to the system prompt."""

from datetime import date

from tau.ext import BeforeAgentStart, ExtensionAPI, ExtensionContext, RunSetup


def extension(tau: ExtensionAPI) -> None:
    @tau.on("before_agent_start")
    def add_date(event: BeforeAgentStart, ctx: ExtensionContext) -> RunSetup:
        return RunSetup(system_prompt=f"{event.system_prompt}\n\nToday is {date.today():%A, %B %d}.")
