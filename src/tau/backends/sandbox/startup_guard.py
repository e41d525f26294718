"""Disables files that commands create in the home folder and that run when the user logs in or opens a shell.

Existing ones are read-only in a sandbox; one that does not exist cannot be mounted over.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from tau.backends.sandbox.policy import SandboxPolicy, is_within, real_folder

# Files, and folders of such files: not those that ordinary programs create, such as ~/.config.
WATCHED = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".xprofile", ".xinitrc", ".pam_environment"),
    *(".gitconfig", ".vimrc", ".exrc", ".tmux.conf", ".ssh", ".forward"),
    *(".config/autostart", ".config/environment.d", ".config/fish", ".config/git", ".config/systemd"),
)
DISABLED = ".disabled"


class StartupGuard:
    """One per sandbox. Call `watch` when it has started, `check` after each command."""

    def __init__(self, missing: Iterable[Path] = ()) -> None:
        self.missing = set(missing)  # what does not exist, and could be created

    def watch(self, policy: SandboxPolicy) -> None:
        """Remember what does not exist now, and could be created."""
        home = real_folder(Path.home())
        for path in (home / name for name in WATCHED):
            # Where a link of the user's leads is protected as a whole.
            if is_within(path, (*policy.roots, *policy.write)) and not (
                os.path.lexists(path) or path.parent.is_symlink()
            ):
                self.missing.add(path)

    def check(self) -> list[str]:
        """Rename what commands created; returns a sentence for each."""
        notes = []
        for missing in sorted(self.missing):
            if not os.path.lexists(missing):
                continue
            # A link may lead to a folder that is not the command's. The link itself is.
            path = missing if real_folder(missing.parent) == missing.parent else missing.parent
            target = path.with_name(path.name + DISABLED)
            if os.path.lexists(target):
                target = path.with_name(f"{path.name}-{os.urandom(4).hex()}{DISABLED}")
            try:
                path.rename(target)
            except OSError as error:
                notes.append(f"New startup file: {path}. It could not be disabled: {error.strerror}.")
                self.missing.discard(missing)
            else:
                notes.append(f"New startup file: {path}. It is disabled; to keep it, rename {target.name}.")
        return notes
