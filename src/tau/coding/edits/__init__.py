"""Edit formats besides the default: text replacement, Codex patches and unified diffs, applied atomically."""
