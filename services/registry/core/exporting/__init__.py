"""What leaves in bulk as Arrow and Parquet: files, and the rows of each kind."""
