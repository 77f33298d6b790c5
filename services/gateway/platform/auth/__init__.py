"""Who is there: from what a caller brings to a person or a program that is known."""
