"""Taking slots back: `rights` says who may ask whom at any time, `equals` who once a turn is over, `standing` keeps whom to ask first, `victims` chooses; `moves` brings free slots together."""
