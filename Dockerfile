# The operator's image: its four packages, and dependencies pinned by hash. Runs as nobody in
# particular, on a root file system that may be read-only. Two builds of a commit give the same
# files (release/image): byte code is checked by the hash of its source, and not by a time, and
# modes do not follow the umask of whoever made the checkout.
ARG BASE=python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d

FROM ${BASE} AS dependencies
ENV PYTHONHASHSEED=0
COPY requirements/operator.txt /operator.txt
RUN python -m venv --without-pip /venv \
 && pip --python /venv/bin/python install --no-cache-dir --no-compile --require-hashes \
    --only-binary=:all: --requirement /operator.txt
COPY api /operator/api
COPY metrics /operator/metrics
COPY reconcile /operator/reconcile
COPY controller /operator/controller
COPY kube /operator/kube
RUN python -m compileall -q -j 1 --invalidation-mode unchecked-hash /venv/lib /operator \
 && chmod -R u=rwX,go=rX /operator

FROM ${BASE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title=paddlejob-operator \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.revision=${REVISION}
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    PADDLEJOB_OPERATOR_REVISION=${REVISION}
COPY --from=dependencies /venv /venv
COPY --from=dependencies /operator /operator
WORKDIR /operator
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["python", "-m", "controller"]
