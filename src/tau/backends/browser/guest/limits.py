"""What a tab keeps and lists at most."""

MAX_ELEMENTS = 500  # of an observation
MAX_NAME_CHARS = 200
MAX_ENTRIES = 200  # console messages, and requests
MAX_TEXT_CHARS = 2_000
MAX_DOWNLOADS = 20
MAX_FILE_BYTES = 50 * 1024 * 1024
