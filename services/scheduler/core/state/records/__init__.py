"""What there is: runs, trials, workers, and the rules of people. Frozen values, and the tables of their states."""
