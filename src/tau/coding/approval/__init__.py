"""Whether a tool call may run: the policy decides, the hook asks the person."""
