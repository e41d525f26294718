"""Exits with 0 if there is a key for any provider: then `make run` needs no demo model."""

import os
import sys

from tau.ai.catalog import load_catalog
from tau.base.errors import TauError
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import user_paths


def main() -> int:
    paths = user_paths()
    try:
        models = load_models_file(paths.models)
        catalog = merge_models(load_catalog(), models)
        keys = KeyCredentials(catalog, AuthFile(paths.auth), LocalRunner(), os.environ, models=models.keys)
        return 0 if keys.providers_with_keys() else 1
    except TauError:
        return 0  # an invalid file: tau itself reports it


if __name__ == "__main__":
    sys.exit(main())
