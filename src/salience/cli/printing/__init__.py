"""Results, explanations and help as text for people."""
