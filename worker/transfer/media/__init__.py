"""Media that trials log, and TensorBoard event files of user code: from the run's directory to the registry."""
