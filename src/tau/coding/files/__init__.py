"""Files for tools: path arguments, the local file system, files the model has seen."""
