"""Speed and accuracy of Hati itself, side by side with peers, several times, medians quoted."""
