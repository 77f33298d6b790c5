"""What has just happened, for whoever waits for it."""
