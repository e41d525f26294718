"""File names and files as tools see them: path arguments, the local file system, files the model has seen."""
