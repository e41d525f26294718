"""System calls that fail on demand."""

import os
from collections.abc import Callable
from typing import Any


class FailAt:
    """Makes the k-th call of one function, and every later one if `onwards`, raise an OSError."""

    def __init__(self, real: Callable[..., Any], k: int, number: int, onwards: bool) -> None:
        self.real, self.k, self.number, self.onwards = real, k, number, onwards
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == self.k or (self.onwards and self.calls > self.k):
            raise OSError(self.number, os.strerror(self.number))
        return self.real(*args, **kwargs)
