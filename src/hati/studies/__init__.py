"""The questions that Hati answers: each study plans runs and concludes from them, and does nothing else."""
