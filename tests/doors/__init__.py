"""The promises of a memory, through every door that leads to one."""
