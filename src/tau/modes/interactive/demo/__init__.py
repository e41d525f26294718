"""`tau demo`: a bug fix that is played by a script, with the real tools on the real screen."""
