"""Descriptions of settings are in `setting_descriptions.json` alone: a start needs none of them."""

import json
from pathlib import Path

from tau.config import setting_table
from tau.config.setting_table import settings_by_key


def test_every_setting_has_its_description_in_the_file_in_the_order_of_the_struct() -> None:
    file = Path(setting_table.__file__).with_name("setting_descriptions.json")
    assert list(json.loads(file.read_text(encoding="utf-8"))) == list(settings_by_key())
    described = {key: one.annotation.__metadata__[0].description for key, one in settings_by_key().items()}
    assert not [key for key, text in described.items() if text is not None], "Move them to the file."
