"""What is seen of a run while its ranks train: signs of life, resources, phases."""
