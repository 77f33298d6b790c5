"""The operator's view of dead letters: messages that a service could not handle, listed, sent again or dropped."""
