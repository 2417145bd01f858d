"""The files of a project that runs are made from, and Hati's own."""
