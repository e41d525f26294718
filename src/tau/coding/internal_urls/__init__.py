"""Internal URLs such as `artifact://3`: one router, a handler per scheme."""
