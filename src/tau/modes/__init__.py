"""The modes of tau: each drives a session and shows what happens; none reimplements it."""
