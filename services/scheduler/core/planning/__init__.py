"""Who gets which slots now, who is asked for theirs, and what more could be used. A plan leaves the world as it was."""
