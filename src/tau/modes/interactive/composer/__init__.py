"""The input area: editor, completion, prompt history, drafts, attachments, external editor."""
