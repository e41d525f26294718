"""Commands that continue in the background, and how their results reach the model."""
