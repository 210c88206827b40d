"""Kubeflow's quick start, with the import and the function changed: NAMESPACE KUBECONFIG."""
# ruff: noqa: T201

import sys

from kubeflow.trainer import CustomTrainer, CustomTrainerContainer

from paddlejob import Client
from paddlejob.kubeflow import TrainerClient
from tests.live import patience


def train_paddle(steps: int) -> None:
    """What every node runs."""
    import paddle
    from paddle import distributed

    distributed.init_parallel_env()
    print("rank", distributed.get_rank(), "of", distributed.get_world_size(), "steps", steps)
    print(paddle.__version__)


def main(namespace: str, kubeconfig: str) -> None:
    """Train, look at the job, delete it."""
    with Client(namespace, kubeconfig=kubeconfig) as where:
        client = TrainerClient(where)
        print(*(runtime.name for runtime in client.list_runtimes()))
        job_id = client.train(
            runtime="paddle-distributed",
            trainer=CustomTrainer(
                func=train_paddle,
                func_args={"steps": 3},
                num_nodes=2,
                env={"PADDLE_DISTRI_BACKEND": "gloo"},
            ),
        )
        job = client.wait_for_job_status(name=job_id, timeout=patience.SECONDS)
        print(job.status, *(f"{step.name} {step.status}" for step in job.steps))
        print(*client.get_job_logs(name=job_id), sep="\n")
        print([each.name for each in client.list_jobs()] == [job_id])
        print("PaddleJob" in {each.involved_object_kind for each in client.get_job_events(job_id)})
        try:
            client.train(trainer=None)
        except NotImplementedError as error:
            print(error)
        image = client.train(trainer=CustomTrainerContainer(image="python"))
        client.wait_for_job_status(name=image, timeout=patience.SECONDS)
        client.delete_job(image)
        client.delete_job(job_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
