"""What stands in the transcript: messages, calls, notices, summaries; each a block that becomes final."""
