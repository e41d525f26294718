"""Runs the hooks of an event on a sample, for `tau hooks test`."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from msgspec import json

from tau.config.layers import load_settings
from tau.config.paths import Paths, current_folder, project_folders
from tau.ext.hooks.hook_files import HookScope, HookTable
from tau.ext.hooks.hook_run import HookResult, run_hook
from tau.ext.hooks.tool_names import NAMES, main_values, matches, meets, tool_names
from tau.sdk.composition import open_runners
from tau.sdk.options import SessionOptions

SAMPLES: Mapping[str, Mapping[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "UserPromptSubmit": {"prompt": "Hello"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "PostCompact": {"trigger": "manual", "compact_summary": "A summary."},
    "Notification": {"message": "tau is waiting for your input", "notification_type": "idle_prompt"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "Done."},
    "SubagentStart": {"agent_id": "1", "agent_type": "task"},
    "SubagentStop": {"agent_id": "1", "agent_type": "task", "stop_hook_active": False},
}
_SUBJECTS = ("source", "reason", "trigger", "notification_type", "agent_type")


async def try_hooks(
    event: str,
    tool: str,
    given: Mapping[str, Any],
    table: HookTable,
    paths: Paths,
    environ: Mapping[str, str],
    services: AsyncExitStack,
    *,
    trusted: bool,
) -> list[HookResult]:
    """Run them one after the other. `given` is the tool's input, or replaces fields of the sample."""
    cwd = current_folder()
    options = SessionOptions(cwd=cwd)
    runner, outside, _ = await open_runners(options, load_settings(paths, cwd).settings, paths, services)
    world = HookScope(
        cwd=cwd,
        project=list(project_folders(cwd))[-1],
        runner=runner,
        outside=outside,
        environ=environ,
        trusted=trusted,
    )
    facts = {
        "session_id": "test",
        "transcript_path": "",
        "cwd": str(cwd),
        "permission_mode": "default",
        "hook_event_name": event,
    }
    if event in SAMPLES:
        fields = {**SAMPLES[event], **given}
        subjects = tuple(str(fields[name]) for name in _SUBJECTS if name in fields)
    else:
        own = next((name for name, shown in NAMES.items() if tool in (name, *shown)), tool or "bash")
        subjects = tool_names(own)
        shown = given or ({"command": "echo hello"} if own == "bash" else {})
        fields = {"tool_name": subjects[0], "tool_input": shown, "tool_use_id": "test"}
        if event == "PostToolUse":
            fields["tool_response"] = {"stdout": "hello", "stderr": "", "interrupted": False}
        elif event == "PostToolUseFailure":
            fields["error"] = "It failed."
    payload = json.encode({**facts, **fields})
    values = main_values(fields.get("tool_input", {}), cwd)
    chosen = [
        hook
        for hook in table.active
        if hook.event == event
        and (not subjects or matches(hook.matcher, subjects))
        and meets(hook.condition, subjects, values)
    ]
    return [await run_hook(hook, payload, world) for hook in chosen]
