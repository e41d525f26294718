"""Screens about subagents: the panel of those in the background, the Agent Hub, a live transcript."""

from tau.ai.faux import Say, Use, Wait
from tests.modes.interactive.screens.screen_rig import Screen, Script, Stage

TASKS = [{"id": name, "assignment": f"Review {name}"} for name in ("Parser", "Printer", "Server")]
DELEGATE = [Use("task", agent="oracle", context="The shop.", tasks=TASKS)]
BLOCKING: Script = [DELEGATE, [Say("I read **first**."), Wait()], [Wait()], [Use("yield", error="No tests.")]]
VARIES = r"\d[\d.]* (m?s|tokens)"


async def hub(stage: Stage) -> None:
    """While the call that started the agents blocks."""
    await stage.send("Review everything")
    await stage.show("No tests." if stage.linear else "1 failed")
    await stage.press("alt+a")
    await stage.show("Printer")


async def transcript(stage: Stage) -> None:
    await hub(stage)
    await stage.press("enter")
    await stage.show("I read first.")


SCREENS = {
    "hub": Screen(
        hub,
        ("Agents", "Parser", "Printer", "Server", "Enter transcript", "Esc close"),
        BLOCKING,
        wide=("failed, idle", "2 running", "oracle, example-large"),
        announced=("Agents", "Parser", "Enter transcript", "Esc close"),
        opens="selectors.agent_hub.open_hub",
        command="hub",
        varies=VARIES,
        typed="Filter: ",
        golden=False,
    ),
    "hub-transcript": Screen(
        transcript,
        ("Parser: running", "Review Parser", "I read first."),
        BLOCKING,
        opens="selectors.agent_hub.open_hub selectors.agent_hub.AgentHub._show_pager",
        varies=VARIES,
        typed=None,
        golden=False,
    ),
}
