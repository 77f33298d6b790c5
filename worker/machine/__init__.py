"""The machine itself: what it has to give, what its kernel and its provider say."""
