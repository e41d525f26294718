"""Let the model read notes as note://NAME."""

from tau.ext import ExtensionAPI


def extension(tau: ExtensionAPI) -> None:
    def read(name: str) -> str:
        path = tau.data_dir / f"{name}.md"
        return path.read_text() if path.exists() else "There is no such note."

    tau.url_scheme("note", read)
