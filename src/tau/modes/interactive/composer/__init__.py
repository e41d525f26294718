"""What the editor knows of its surroundings: completion, history, drafts, pictures, an editor outside."""
