"""The blocks of the transcript: messages, tool calls, notices, summaries; each eventually becomes final."""
