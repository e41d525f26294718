"""The program's own standard output, apart from descriptor 1, which code of others can write to."""

import os

STDOUT = 1


class OwnStdout:
    """`fd` is what the program writes to. Until it is reserved, that is descriptor 1."""

    fd = STDOUT

    @classmethod
    def reserve(cls) -> int:
        """Duplicate descriptor 1 for the program alone: from now on, 1 and 2 may be pointed elsewhere."""
        cls.fd = os.dup(STDOUT)
        return cls.fd
