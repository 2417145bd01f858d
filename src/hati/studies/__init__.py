"""The studies of Hati: each plans runs and concludes from them, and does nothing else."""
