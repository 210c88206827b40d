"""Code that is sent with a job: packed here, kept in a ConfigMap, unpacked in the job's pods."""
