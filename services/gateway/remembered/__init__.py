"""What was found a moment ago, as long as it still holds."""
