"""Many runs of one spec: axes, where they run, and the table that comes out."""
