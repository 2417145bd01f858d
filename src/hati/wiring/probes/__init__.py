"""Infrastructure experiments on this machine: run, kept, tested, and used for predictions."""
