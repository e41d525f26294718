"""What stands under the tools search and find: globs, ignore rules, the walk, ripgrep and its stand-in."""
