# The operator's image: its four packages, and dependencies pinned by hash. Runs as nobody in
# particular, on a root file system that may be read-only.
FROM python:3.11.14-slim-bookworm AS dependencies
COPY requirements/operator.txt /operator.txt
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --require-hashes --only-binary=:all: -r /operator.txt

FROM python:3.11.14-slim-bookworm
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=dependencies /venv /venv
WORKDIR /operator
COPY api api
COPY metrics metrics
COPY reconcile reconcile
COPY controller controller
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["python", "-m", "controller"]
