"""Measuring, cutting, wrapping and cleaning text that carries styles, by what is seen as a character."""
