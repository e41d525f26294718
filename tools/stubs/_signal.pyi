from signal import SIG_DFL, SIG_IGN, SIGCHLD, SIGCONT, SIGINT, SIGKILL, SIGTERM, set_wakeup_fd, signal

__all__ = [
    "SIGCHLD",
    "SIGCONT",
    "SIGINT",
    "SIGKILL",
    "SIGTERM",
    "SIG_DFL",
    "SIG_IGN",
    "set_wakeup_fd",
    "signal",
]
