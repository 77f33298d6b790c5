"""Why a request waits, who holds what it waits for, and what would help: in words, and as planned."""
