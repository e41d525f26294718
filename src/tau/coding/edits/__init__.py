"""The other languages of the edit tool: replacement, the patch envelope, unified diffs; all or nothing."""
