"""Ways in that do not pass through the registry: each fences at its own seam."""
