"""What follows from tokens; what a config says of datasets."""
