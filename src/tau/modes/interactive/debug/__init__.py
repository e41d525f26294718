"""The debug menu: logs, raw responses, system info, reports."""
