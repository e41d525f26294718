"""What `/permissions` shows and changes, in every mode."""

from tau.base.errors import TauError, UsageError
from tau.coding.approval.rules import ACTIONS, RuleAction
from tau.coding.approval.session_permissions import SessionPermissions
from tau.config.settings import APPROVAL_MODES, ApprovalMode

MODES: dict[ApprovalMode, str] = {
    "ask": "asks before every write, command and connection",
    "workspace": "allows reads, writes inside the workspace and contained commands",
    "plan": "only reads, until you approve a plan",
    "yolo": "asks only where a rule says so",
}
_TITLES: dict[RuleAction, str] = {"deny": "Denied", "ask": "Always asks", "allow": "Allowed without asking"}
_USAGE = (
    "Usage: /permissions, /permissions MODE (ask, workspace, plan or yolo), /permissions allow PATTERN, "
    "/permissions ask PATTERN, /permissions deny PATTERN or /permissions remove PATTERN."
)


def describe_mode(mode: ApprovalMode) -> str:
    return f"Permission mode {mode}: {MODES[mode]}."


def run_command(permissions: SessionPermissions, rest: str) -> str:
    """Show or change the mode or the rules; what to tell the user. Raises TauError."""
    verb, _, pattern = rest.partition(" ")
    pattern = pattern.strip()
    if not rest:
        return _describe(permissions)
    if verb in APPROVAL_MODES and not (pattern and verb in ACTIONS):
        if pattern:
            raise UsageError(_USAGE)
        permissions.set_mode(verb)
        return describe_mode(permissions.mode)
    if verb == "remove" and pattern:
        return f"Removed from tools.{permissions.remove_rule(pattern)}: {pattern}"
    for action in ACTIONS:
        if verb == action and pattern:
            return _add(permissions, action, pattern)
    raise UsageError(_USAGE)


def _add(permissions: SessionPermissions, action: RuleAction, pattern: str) -> str:
    try:
        permissions.add_rule(action, pattern)
    except UsageError:
        raise
    except TauError as error:
        return f"Added for this session only. {error}"
    return f"Added to tools.{action}: {pattern}"


def _describe(permissions: SessionPermissions) -> str:
    others = [mode for mode in MODES if mode != permissions.mode]
    change = f"Change it with /permissions {', '.join(others[:-1])} or {others[-1]}."
    lines = [describe_mode(permissions.mode), change]
    for action in ("deny", "ask", "allow"):
        patterns = permissions.patterns(action)
        if patterns:
            lines += [f"{_TITLES[action]} (tools.{action}):", *(f"  {pattern}" for pattern in patterns)]
    if len(lines) == 2:
        lines.append("There are no rules. Add one with /permissions allow, ask or deny and a pattern.")
    return "\n".join(lines)
