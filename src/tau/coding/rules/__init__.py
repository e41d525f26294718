"""Rules: guidance that is always in the prompt, read on demand, or enforced while the model streams."""
