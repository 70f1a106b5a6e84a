"""The surfaces: each translates an `Outcome` into a protocol and decides nothing. Import the one that is needed."""
