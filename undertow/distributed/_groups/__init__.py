"""Process groups, which transports they have, and how the processes find each other."""
