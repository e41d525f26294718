"""RPC mode: a program drives a session with JSON lines on stdin and stdout."""
