"""Native kernels in C: their sources, their build, and the library they are loaded from."""
