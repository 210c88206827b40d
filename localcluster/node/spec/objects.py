"""ConfigMaps and Secrets for pods, read from the API server for a container's start or a volume.

Nothing is cached: each try of a start reads them again.
"""

import base64

from localcluster.client.rest import Raw, ServerClient

Content = dict[str, bytes]


class ConfigError(Exception):
    """A referenced object, key or field does not exist; the message is like the kubelet's."""


def content_of(client: ServerClient, kind: str, namespace: str, reference: Raw) -> Content:
    """The decoded values of a configMap or secret by key; empty if an optional one is absent.

    Raises ConfigError if a required one is absent.
    """
    name = reference.get("name") or reference.get("secretName") or ""
    found = client.find(f"/api/v1/namespaces/{namespace}/{kind.lower()}s/{name}")
    if found is None:
        if reference.get("optional"):
            return {}
        raise ConfigError(f'{kind.lower()} "{name}" not found')
    encoded = found.get("data" if kind == "secret" else "binaryData") or {}
    text = found.get("data") or {} if kind == "configMap" else {}
    decoded = {key: base64.b64decode(value) for key, value in encoded.items()}
    return {key: value.encode() for key, value in text.items()} | decoded
