"""A folder that goes with a job: packed here, kept in a ConfigMap, unpacked in the job's pods."""
