"""What the shim uses of AstrBot, as its source shows it (spec: hosts 4.2)."""
