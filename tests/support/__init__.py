"""What tests and benches share: a model server that can be told what to say, and how to fail."""
