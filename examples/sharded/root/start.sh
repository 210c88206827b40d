#!/bin/bash
# Entry point of the image: copies the training files of JOB_NAME from the shared storage into the
# container, and starts this node's server and trainer there.
set -e
mkdir -p /root/job
cp -r "$JOB_PATH/$JOB_NAME/$TRAIN_CONFIG_DIR" /root/job/
cd "/root/job/$TRAIN_CONFIG_DIR"
exec python /root/start_paddle.py
