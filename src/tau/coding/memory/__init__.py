"""Memory that works without being called: recalled before a run, retained after some turns, reflected on."""
