"""Answers to questions, any replica's: prices and costs, pools of rented machines, and whose machine asks to join."""
