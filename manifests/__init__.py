"""The files that kubectl installs, and the program that writes them from `api/`.

`python -m manifests` writes every generated file here and in the Helm chart;
`python -m manifests.openapi` renews `api/pod_template.json` from an API server's OpenAPI on stdin.
Neither talks to a cluster.
"""
