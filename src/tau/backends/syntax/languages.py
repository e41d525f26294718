"""Detects a file's language by its name, else by its first line."""

import re

# What the parser library supports. It panics on any other name, so nothing else may reach it.
LANGUAGES = (
    *("bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl"),
    *("html", "java", "javascript", "json", "kotlin", "lua", "markdown", "nix", "php", "python"),
    *("ruby", "rust", "scala", "solidity", "swift", "tsx", "typescript", "yaml", "zig"),
)

MAX_SUMMARY_BYTES = 2 * 1024 * 1024
MAX_SUMMARY_LINES = 20_000
MAX_PARSED_CHARS = 4 * 1024 * 1024

_ENDINGS = {
    "bash": "sh bash zsh ksh bats ebuild",
    "c": "c",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp tpp inl cu cuh ino",
    "csharp": "cs csx",
    "css": "css",
    "dart": "dart",
    "elixir": "ex exs",
    "go": "go",
    "haskell": "hs",
    "hcl": "hcl tf tfvars nomad",
    "html": "html htm xhtml",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "json": "json jsonc geojson webmanifest ipynb",
    "kotlin": "kt kts",
    "lua": "lua rockspec",
    "markdown": "md markdown",
    "nix": "nix",
    "php": "php php5 php7 php8",
    "python": "py pyi pyw bzl",
    "ruby": "rb rake gemspec ru podspec",
    "rust": "rs",
    "scala": "scala sc sbt",
    "solidity": "sol",
    "swift": "swift",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "yaml": "yml yaml",
    "zig": "zig zon",
}
_NAMES = {
    "bash": ".bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .envrc "
    "PKGBUILD APKBUILD",
    "elixir": "mix.lock",
    "json": ".babelrc .eslintrc .prettierrc .swcrc .jshintrc composer.lock flake.lock deno.lock Pipfile.lock",
    "python": "BUILD BUILD.bazel WORKSPACE WORKSPACE.bazel MODULE.bazel SConstruct SConscript Tiltfile",
    "ruby": "Rakefile Gemfile Podfile Vagrantfile Fastfile Guardfile Brewfile Capfile Appraisals",
    "yaml": ".clang-format .clang-tidy .clangd pubspec.lock",
}
_BY_ENDING = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}
_BY_NAME = {name: language for language, names in _NAMES.items() for name in names.split()}
_BY_PROGRAM = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ash", "ksh", "bats"), "bash"),
    **dict.fromkeys(("python", "pypy"), "python"),
    **dict.fromkeys(("node", "nodejs", "bun"), "javascript"),
    **dict.fromkeys(("deno", "ts-node", "tsx"), "typescript"),
    **dict.fromkeys(("ruby", "php", "lua", "elixir", "scala", "swift", "dart"), ""),
    "luajit": "lua",
    "kotlin": "kotlin",
    "runhaskell": "haskell",
    "stack": "haskell",
}
_SHEBANG = r"#!\s*(?P<path>\S+)(?P<rest>[^\n]*)"
_ONLY_CPP = (
    r"^\s*(?:class\s+\w+[^;]*$|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)|\w::\w"
)


def detect_language(path: str, text: str) -> str | None:
    """One of `LANGUAGES`, or None. The file need not exist; `text` decides where the name does not."""
    name = path.replace("\\", "/").rpartition("/")[2]
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, ending = name.rpartition(".")
    if dot and stem:
        if ending.lower() == "h":
            return "cpp" if re.search(_ONLY_CPP, text[:200_000], re.MULTILINE) else "c"
        if language := _BY_ENDING.get(ending) or _BY_ENDING.get(ending.lower()):
            return language
    return _by_shebang(text)


def _by_shebang(text: str) -> str | None:
    match = re.match(_SHEBANG, text[:200])
    if match is None:
        return None
    program = match["path"].rpartition("/")[2]
    if program == "env":
        words = [word for word in match["rest"].split() if not word.startswith("-") and "=" not in word]
        program = words[0].rpartition("/")[2] if words else ""
    bare = program.rstrip("0123456789.")
    language = _BY_PROGRAM.get(program, _BY_PROGRAM.get(bare))
    return None if language is None else language or bare
