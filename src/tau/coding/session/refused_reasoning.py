"""Removes opaque reasoning that a server refused from the context; the log keeps it.

Servers check what they signed or encrypted. They refuse it after a change of the key or of the backend behind
an address, and would refuse every later request too.
"""

from tau.agent.events import Notice
from tau.ai.model import Model
from tau.ai.normalization import without_opaque_reasoning
from tau.base import log as log_file
from tau.base.errors import ProviderError
from tau.coding.session.entries import ContentReplacement, ContextEdit
from tau.coding.session.storage.log import SessionLog


def remove_refused_reasoning(log: SessionLog, model: Model, error: ProviderError) -> Notice | None:
    """Strip what this model's server issued. Returns a notice for the user, None if there is nothing."""
    count = 0
    for item in log.context().items:  # this list stays as it is: an edit makes a new one
        bare = without_opaque_reasoning(item.message, model)
        if bare is not None:
            count += 1
            log.append(ContextEdit(target_id=item.id, replacement=ContentReplacement([*bare.content])))
    if not count:
        return None
    log_file.warning(f"{model.key} refused its earlier reasoning, which is left out from now on: {error}")
    return Notice("info", f"{model.key} no longer accepts its earlier reasoning; asking again without it.")
