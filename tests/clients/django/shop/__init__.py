"""The application that the Django client lives with."""
