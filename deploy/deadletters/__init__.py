"""Dead letters for operators: list, replay or drop messages that a service could not handle."""
