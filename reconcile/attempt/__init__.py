"""What ends an attempt and what begins the next one."""
