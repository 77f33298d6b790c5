"""What trials log beside numbers, and TensorBoard's event files that their code writes: from the run's folder to the registry."""
