"""Why a job is as it is: what is known of it, and what each reason means to its user."""
