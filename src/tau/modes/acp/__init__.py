"""The Agent Client Protocol: editors drive sessions. Needs the extra `acp`, which nothing else imports."""
