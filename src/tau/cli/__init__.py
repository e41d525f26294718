"""From the command line to a mode; everything heavy is imported late."""
