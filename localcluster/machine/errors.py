"""What can go wrong with a local cluster, told in one line to the person who started it."""


class LocalClusterError(Exception):
    """The base of all; its text is the message for the user."""


class BuildError(LocalClusterError):
    """The binaries could not be built."""


class StartError(LocalClusterError):
    """A component died or was not ready in time; the text ends with its last log lines."""
