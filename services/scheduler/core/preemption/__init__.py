"""Taking slots back: `rights` says who may ask whom, `standing` keeps whom to ask first, `victims` chooses."""
