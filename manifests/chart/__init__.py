"""The generated part of the Helm chart: values with their schema, flags, permissions, CRD, etcd,
alerts, dashboard and README.

The other templates in charts/paddlejob-operator are written by hand: users of Helm read them.
tests/production/test_chart.py shows that they make the same objects as the plain file.
"""
