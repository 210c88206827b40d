"""Errors of a local cluster; each text is one line for the person who started it."""


class LocalClusterError(Exception):
    """The base of all; its text is the message for the user."""


class BuildError(LocalClusterError):
    """The binaries could not be built."""


class StartError(LocalClusterError):
    """A component died or was not ready in time; the text ends with its last log lines."""
