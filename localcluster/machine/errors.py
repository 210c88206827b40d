"""Errors of a local cluster; each text is for the person who started it."""


class LocalClusterError(Exception):
    """The base of all errors here; its text is the message for the user."""


class BuildError(LocalClusterError):
    """The binaries could not be built."""


class StartError(LocalClusterError):
    """A component died or was not ready in time; usually the text ends with its last log lines."""
