"""How long a session waits for a model server."""

from tau.ai.transport import Timeouts
from tau.config.settings import Settings
from tau.sdk import models


def test_settings_and_calls_without_a_session_have_the_same_time_limits() -> None:
    assert models._timeouts(Settings()) == Timeouts() == Timeouts(connect=15, first_byte=300, idle=120)
