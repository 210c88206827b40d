"""The files that kubectl installs, and the program that writes them from `api/`.

`python -m manifests` renders every file under `manifests/v1` and `manifests/v1beta1`;
`python -m manifests.openapi FILE` renews `api/pod_template.json` from an API server's OpenAPI.
Neither talks to a cluster.
"""
