"""A package, because a dependency of neonize installs one of the same name, which would come first."""
