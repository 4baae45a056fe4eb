"""Studies of the capacity family."""
