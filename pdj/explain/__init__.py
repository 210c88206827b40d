"""Explains a job's state: the facts about it, and what each reason means for its user."""
