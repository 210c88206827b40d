"""Failures of the operator's own requests, beside those of every client of an API server."""

from kube.errors import AlreadyExists, ApiError, Transient


class FormerJob(Transient):
    """The name is still taken by the child of a former job, or by an object that is almost gone."""


class Ownerless(AlreadyExists):
    """The name is taken by a former job's child, which a restore brought back without its owner.

    `message` is the former job's UID.
    """


class NotLeader(ApiError):
    """A write was not sent, because this process does not have the lease, or has it no longer."""
