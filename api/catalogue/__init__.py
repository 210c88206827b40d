"""The catalogue of reasons: what each means, who acts and what to do, in English and Chinese."""
