"""What asks for slots in a simulation: trials that no search makes, and slots that are booked."""
