"""How long a test waits for something that must happen."""

import os

HANG_S = float(os.environ.get("TEST_HANG_SECONDS", "60"))
"""Only a hang takes this long, even on a busy machine."""
