"""`tau demo`: a scripted bug fix with the real tools on the real screen."""
