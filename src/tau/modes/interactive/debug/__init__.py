"""The debug menu: logs, the last answers as they came, the system, a report."""
