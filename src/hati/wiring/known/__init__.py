"""What a store knows, for the plans of studies: earlier screenings, configurations, statistics, warm-up, findings."""
