"""Bars, and lines of other tools, and what they say.

The forms are those of the tools' own programs; the values are made up.
"""

from typing import Any

BAR = "|███▌      |"
RICH = "━━━━━━━━━━╺━━━━━━━━━"
FORMERS = "[2026-01-02 03:04:05,678] [    INFO] -"
GAN = "[01/02 03:04:05] ppgan.engine.trainer INFO:"
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    # bars
    "tqdm": (
        f" 34%{BAR} 340/1000 [01:11<02:18,  4.77it/s, loss=0.31]",
        {"step": 340, "total": 1000, "loss": "0.31"},
    ),
    "tqdm, slow": (
        f"Steps:  34%{BAR} 340/1000 [1:11:01<2:18:09, 12.56s/it, lr=1e-05, step_loss=0.31]",
        {"step": 340, "total": 1000, "loss": "0.31"},
    ),
    "tqdm of samples": (
        f"train: 34%{BAR} 20400/60000 [01:11<02:18, 287.1img/s, loss=0.31]",
        {"loss": "0.31"},
    ),
    "tqdm of epochs": (f" 34%{BAR} 34/100 [01:11<02:18,  2.1s/epoch, loss=0.31]", {"loss": "0.31"}),
    "tqdm of a file": (f"a.bin:  34%{BAR} 340M/1.0G [01:11<02:18, 4.77MB/s]", {}),
    "tqdm of an epoch": (
        f"Epoch 3/20:  34%{BAR} 34/100 [01:11<02:18,  4.77it/s, loss=0.31]",
        {"step": 234, "total": 2000, "epoch": "3/20", "loss": "0.31"},
    ),
    "Horovod's example": (
        f"Train Epoch     #3:  34%{BAR} 34/100 [01:11<02:18,  4.77it/s, loss=0.31]",
        {"step": 34, "epoch": "3", "loss": "0.31"},
    ),
    "Ultralytics": (
        f"       3/20      2.38G      1.105       2.91         11        640:  34%{BAR} 34/100 "
        "[00:03<00:10,  2.21it/s]",
        {"step": 34},
    ),
    "rich": (f"Training {RICH} 340/1000 0:00:12", {"step": 340, "total": 1000}),
    "rich, with a percentage": (
        f"Training {RICH}  34% 340/1000 0:01:11 loss: 0.31",
        {"step": 340, "total": 1000, "loss": "0.31"},
    ),
    "Lightning, rich": (
        f"Epoch 3/9  {RICH} 340/1000 0:01:11 • 0:02:18 4.77it/s v_num: 0.000 train_loss: 0.31",
        {"step": 340, "epoch": "3", "loss": "0.31"},
    ),
    "Lightning": (
        f"Epoch 3:  34%{BAR} 340/1000 [01:11<02:18,  4.77it/s, v_num=0, train_loss_step=0.31, "
        "train_loss_epoch=0.52]",
        {"step": 340, "epoch": "3", "loss": "0.31"},
    ),
    "Lightning checks": (f"Sanity Checking DataLoader 0:  50%{BAR} 1/2 [00:00<00:00, 9.1it/s]", {}),
    "Lightning validates": (f"Validation {RICH} 34/100 0:00:12 • 0:00:10 9.1it/s", {}),
    "Keras": (
        "Epoch 3/20\n 34/100 [=========>....................] - ETA: 1:02:03 - loss: 0.31",
        {"step": 234, "total": 2000, "epoch": "3/20", "loss": "0.31"},
    ),
    "Keras 3": (
        "Epoch 3/20\n\x1b[1m 34/100\x1b[0m \x1b[32m━━━━━━\x1b[0m\x1b[37m━━━━━━━━\x1b[0m "
        "\x1b[1m5s\x1b[0m 81ms/step - accuracy: 0.9 - loss: 0.3125",
        {"step": 234, "total": 2000, "epoch": "3/20", "loss": "0.3125"},
    ),
    # others
    "MNIST, in samples": (
        "Train Epoch: 2 [640/60000 (1%)]\tLoss: 0.312500",
        {"epoch": "2", "loss": "0.3125"},
    ),
    "MNIST, tested": (
        "\nTest set: Average loss: 0.0512, Accuracy: 9832/10000 (98%)\n",
        {},
    ),
    "timm, which has the same form in steps": (
        "Train: 3 [ 340/1251 ( 27%)]  Loss: 6.25 (6.9)  Time: 0.31s, 330.2/s  LR: 1.0e-03",
        {"loss": "6.25"},
    ),
    "ImageNet": (
        "Epoch: [3][ 340/5005]\tTime  0.31 ( 0.33)\tData  0.01\tLoss 6.2500e+00 (6.9e+00)",
        {"step": 340, "epoch": "3", "loss": "6.25"},
    ),
    "torchvision, whose time is an epoch's": (
        "Epoch: [3]  [ 340/5005]  eta: 0:25:11  lr: 0.1  img/s: 330.5  loss: 6.25 (6.9)  time: 0.3",
        {"step": 340, "epoch": "3", "loss": "6.25", "rate": "330.5"},
    ),
    "Swin, whose epochs begin with 0": (
        "INFO Train: [3/300][340/1251]\teta 0:05:03 lr 0.000001\ttime 0.31 (0.33)\tloss 6.25 (6.9)",
        {"step": 340, "epoch": "3", "loss": "6.25"},
    ),
    "MMEngine": (
        "01/02 03:04:05 - mmengine - INFO - Iter(train) [ 340/1000]  lr: 1.0e-02  "
        "eta: 1 day, 1:02:03  time: 0.31  data_time: 0.01  memory: 2000  loss: 1.25  loss_ce: 1.1",
        {"step": 340, "total": 1000, "loss": "1.25", "eta": 90123},
    ),
    "MMEngine validates": (
        "01/02 03:04:05 - mmengine - INFO - Iter(val) [ 40/100]    eta: 0:0:9",
        {},
    ),
    "Detectron2": (
        "[01/02 03:04:05 d2.utils.events]:  eta: 1:02:03  iter: 340  total_loss: 4.125  "
        "loss_cls: 3.1  loss_box_reg: 0.9  time: 0.3  data_time: 0.01  lr: 0.001  max_mem: 2000M",
        {"step": 340, "loss": "4.125", "eta": 3723},
    ),
    "YOLOX": (
        "2026-01-02 03:04:05 | INFO     | yolox.core.trainer:250 - epoch: 3/20, iter: 34/400, "
        "mem: 2000Mb, iter_time: 0.31s, data_time: 0.01s, total_loss: 12.5, iou_loss: 3.1, "
        "lr: 1.0e-03, size: 640, ETA: 1 day, 3:04:05",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "12.5", "eta": 97445},
    ),
    "Hugging Face's trainer": (
        "{'loss': 0.3125, 'grad_norm': 1.25, 'learning_rate': 4e-05, 'epoch': 2.67}",
        {"loss": "0.3125"},
    ),
    "Hugging Face's trainer, with its head and bar": (
        "  Gradient Accumulation steps = 8\n  Total optimization steps = 1,000\n"
        f" 34%{BAR} 340/1000 [01:11<02:18,  4.77it/s]\n{{'loss': nan, 'epoch': 2.67}}",
        {"step": 340, "total": 1000, "loss": "nan"},
    ),
    "Hugging Face's scripts of 2019": (
        f"  Total optimization steps = 1,000\nIteration:  34%{BAR} 34/100 [01:11<02:18, 4.77it/s]",
        {"step": 34},
    ),
    "Hugging Face's trainer evaluates": ("{'eval_loss': 0.3125, 'eval_runtime': 1.2}", {}),
    "DeepSpeed": (
        "[2026-01-02 03:04:05,678] [INFO] [logging.py:96:log_dist] [Rank 0] step=340, skipped=0, "
        "lr=[0.001], mom=[[0.9, 0.999]]",
        {"step": 340},
    ),
    "DeepSpeed's timer": (
        "[2026-01-02 03:04:05,678] [INFO] [timer.py:258:stop] epoch=0/micro_step=680/"
        "global_step=340, RunningAvgSamplesPerSec=51.5, CurrSamplesPerSec=52.1, MemAllocated=1.2GB",
        {"step": 340, "epoch": "0"},
    ),
    "Megatron with DeepSpeed": (
        "steps: 340 loss: 0.3125 iter time (s): 1.205 samples/sec: 26.556",
        {"step": 340, "loss": "0.3125", "rate": "26.556"},
    ),
    "Megatron": (
        " [2026-01-02 03:04:05] iteration      340/    1000 | consumed samples:        21760 | "
        "elapsed time per iteration (ms): 3000.1 | learning rate: 1.500E-04 | global batch size:"
        "    64 | lm loss: 6.250000E+00 | loss scale: 1.0 | grad norm: 1.250 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |",
        {"step": 340, "total": 1000, "loss": "6.25"},
    ),
    "fairseq": (
        "2026-01-02 03:04:05 | INFO | train_inner | epoch 003:    340 / 1000 loss=8.125, "
        "nll_loss=7.9, ppl=239, wps=1234, ups=1.2, bsz=64, num_updates=2340, lr=0.0001, gnorm=1.2",
        {"step": 2340, "epoch": "3", "loss": "8.125"},
    ),
    "nanoGPT": (
        "iter 340: loss 3.1250, time 300.12ms, mfu 1.00%",
        {"step": 340, "loss": "3.125"},
    ),
    "nanoGPT evaluates": (
        "step 340: train loss 3.1250, val loss 3.2500",
        {"step": 340, "loss": "3.125"},
    ),
    "SpeechBrain": (
        "epoch: 3, lr: 1.00e+00 - train loss: 3.1250 - valid loss: 2.25, valid WER: 21.5",
        {"epoch": "3", "loss": "3.125"},
    ),
    "validation first": (
        "epoch 3 | valid loss 2.25 | train loss 3.125",
        {"epoch": "3", "loss": "3.125"},
    ),
    "OpenNMT": (
        "[2026-01-02 03:04:05,678 INFO] Step 340/1000; acc:   3.30; ppl: 2000.1; xent: 9.90; "
        "lr: 0.00001; 3000/2800 tok/s;     10 sec",
        {"step": 340, "total": 1000},
    ),
    "TensorFlow's hooks": (
        "INFO:tensorflow:loss = 0.3125, step = 340 (0.412 sec)",
        {"step": 340, "loss": "0.3125"},
    ),
    "MindSpore": (
        "epoch: 3 step: 340, loss is 0.3125",
        {"step": 340, "epoch": "3", "loss": "0.3125"},
    ),
    "loguru": (
        "2026-01-02 03:04:05.678 | INFO     | __main__:train:42 - step 340 loss 0.3125 lr 0.1",
        {"step": 340, "loss": "0.3125"},
    ),
    "JSON": (
        '{"ts": "2026-01-02T03:04:05Z", "step": 340, "total_steps": 1000, "train/loss": 0.3125}',
        {"step": 340, "total": 1000, "loss": "0.3125"},
    ),
    "two fractions": (
        "Train: [ 3/20][ 34/400] Loss 0.31",
        {"step": 34, "epoch": "3", "loss": "0.31"},
    ),
    "word2vec of 2019": ("Step 340: Average Cost 5.1", {"step": 340, "loss": "5.1"}),
    "words of 2019": (
        "[train] batch_id = 340, loss = 0.31, P: 0.9, R: 0.9, F1: 0.9, elapsed time 0.3",
        {"step": 340, "loss": "0.31"},
    ),
    "a cost in seconds": ("step 340 train_loss: 0.31, cost: 0.5 s", {"step": 340, "loss": "0.31"}),
    "a cost in seconds alone": ("step 340, cost: 0.5 s", {"step": 340}),
    "LLaMA-Factory": (
        '{"current_steps": 340, "total_steps": 1000, "loss": 0.31, "lr": 1e-4, "epoch": 1.2}',
        {"step": 340, "total": 1000, "loss": "0.31"},
    ),
    "ms-swift": (
        "{'loss': 0.31, 'epoch': 0.1, 'global_step/max_steps': '340/1000', 'percentage': '34.00%'}",
        {"step": 340, "total": 1000, "loss": "0.31"},
    ),
    "Caffe": (
        "I0102 03:04:05.678 1234 solver.cpp:239] Iteration 340 (12.3 iter/s, 8.1s/100 iters), "
        "loss = 0.3125",
        {"step": 340, "loss": "0.3125"},
    ),
    "Flair": (
        "2026-01-02 03:04:05,678 epoch 3 - iter 34/340 - loss 0.31 - time (sec): 5.23 - "
        "samples/sec: 321.5 - lr: 0.1",
        {"step": 34, "epoch": "3", "loss": "0.31", "rate": "321.5"},
    ),
    "tqdm of a data set": (
        f"100%{BAR} 60000/60000 [00:01<00:00, 51234.1 examples/s]",
        {},
    ),
    "tqdm of files": (f"Fetching 3 files: 34%{BAR} 1/3 [00:01<00:02, 1.2s/it]", {}),
    "a warm-up": ("warmup step 3/100", {}),
    "a tutorial": (
        "Epoch [3/20], Step [34/400], Loss: 0.3125",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.3125"},
    ),
    "epochs from 0": (
        "Epoch [0/20], Step [34/400], Loss: 0.5\nEpoch [3/20], Step [34/400], Loss: 0.3125",
        {"step": 34, "epoch": "3/20", "loss": "0.3125"},
    ),
    "DCGAN": (
        "[3/25][340/1583]\tLoss_D: 0.4\tLoss_G: 5.1\tD(x): 0.9\tD(G(z)): 0.2 / 0.008",
        {"step": 340, "epoch": "3"},
    ),
    "a step, then its epoch": (
        "step 340/1000 epoch 3/20 loss 0.3125",
        {"step": 340, "epoch": "3/20", "loss": "0.3125"},
    ),
    "below an epoch's head, of the training": (
        "Epoch 3/20\nstep 340, total_steps: 1000, loss 0.3",
        {"step": 340, "total": 1000, "epoch": "3/20", "loss": "0.3"},
    ),
    "below an epoch's head": (
        f"Epoch 3/20\n{'-' * 10}\n 34%{BAR} 34/100 [01:11<02:18,  4.77it/s]",
        {"step": 234, "total": 2000, "epoch": "3/20"},
    ),
    "Chinese": (
        "第 3/20 轮，第 34/400 步，验证损失：0.5，损失：0.3125",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.3125"},
    ),
    "resumed": ("Restore ckpt: epoch 3, step 340!", {}),
    "saved": ("Saved the weights at step 340 (best loss 0.3)", {}),
    "saved, after the step": (
        "step 340 loss 0.3 (best epoch: 2), last saved at step 300",
        {"step": 340, "loss": "0.3"},
    ),
    "a place in a program": (
        "[2026-01-02 INFO resume.py:42] step 340 loss 0.3",
        {"step": 340, "loss": "0.3"},
    ),
    "loaded": ("successfully loaded checkpoint at step 340", {}),
    "loaded data": ("data loaded in 0.3 s, step 340 loss 0.3", {"step": 340, "loss": "0.3"}),
    "an evaluation whose end nobody prints": (
        f"{FORMERS} ***** Running Evaluation *****\n{FORMERS} loss: 7.1, global_step: 340",
        {"step": 340, "loss": "7.1"},
    ),
    "a prediction before the training": (
        f"{FORMERS} ***** Running Prediction *****\n{FORMERS} ***** Running training *****\n"
        f" 34%{BAR} 340/1000 [01:11<02:18,  4.77it/s]",
        {"step": 340, "total": 1000},
    ),
    "PaddleSeg's evaluation without an end": (
        "[INFO] Start evaluating (total_samples: 500)...\n40/500 [==>...] - batch_cost: 0.1\n"
        "[INFO] [TRAIN] epoch: 2, iter: 340/1000, loss: 2.5",
        {"step": 340, "total": 1000, "epoch": "2", "loss": "2.5"},
    ),
    "an evaluation that others announce": (
        "start evaluating\nstep 340 loss 0.3",
        {"step": 340, "loss": "0.3"},
    ),
    "Model.predict": ("Predict begin...\nstep 34/40 - 5ms/step\nPredict samples: 400", {}),
    "with a validation": (
        "step 340/1000 train loss: 3.5 validation loss: 3.2",
        {"step": 340, "total": 1000, "loss": "3.5"},
    ),
    "of a validation, with the training's loss": ("Eval step 34/100 train loss: 3.5", {}),
    "a validation by a field": ('{"mode": "val", "step": 34, "loss": 0.3}', {}),
    "a pod whose name is no test": (
        "test-bert-worker-0 step 340 loss 0.3",
        {"step": 340, "loss": "0.3"},
    ),
    "a decimal comma": ("step 340 loss 0,35", {"step": 340}),
    "a download without a unit": (f"34%{BAR} 340123/912422 [00:13<00:10, 13000.12it/s]", {}),
    "a bar that begins": (f"0%{BAR} 0/912422 [00:00<?, ?it/s]", {}),
    "pip": (f"     {RICH} 34/61 kB 3.3 MB/s eta 0:00:00", {}),
    "pip installs": (f"   {RICH} 12/13 [paddlepaddle]", {}),
    "steps that go on over epochs": (
        "Epoch 1/5\nstep 200/1000 loss 0.5\nEpoch 2/5\nstep 300/1000 loss 0.3",
        {"step": 300, "total": 1000, "epoch": "2/5", "loss": "0.3", "eta": 140},
    ),
    "steps that go on, with loops in between": (
        "Epoch 1/5\nstep 200/1000 loss 0.5\nstep 9/20 loss 0.4\nEpoch 2/5\nstep 300/1000 loss 0.3",
        {"step": 300, "total": 1000, "epoch": "2/5", "loss": "0.3", "eta": 210},
    ),
    "steps that begin anew in each epoch": (
        "Epoch 1/5\nstep 1000/1000 loss 0.5\nEpoch 2/5\nstep 250/1000 loss 0.3",
        {"step": 1250, "total": 5000, "epoch": "2/5", "loss": "0.3", "eta": 300},
    ),
    "epochs of different lengths": (
        "epoch 1/3 step 100/100 loss 0.5\nepoch 2/3 step 35/90 loss 0.3",
        {"step": 125, "total": 270, "epoch": "2/3", "loss": "0.3", "eta": 58},
    ),
    "a loop inside the training": (
        "step 340/1000 loss 0.3\nstep 10/20 loss nan",
        {"step": 340, "total": 1000, "loss": "0.3"},
    ),
    "a prediction after the training": (
        f"step 1000/1000 loss 0.3\n 34%{BAR} 34/100 [01:11<02:18,  4.77it/s]",
        {"step": 1000, "total": 1000, "loss": "0.3"},
    ),
    "a loop after the training": (
        "step 1000/1000 loss 0.3\nstep 10/20 loss 0.5",
        {"step": 10, "total": 20, "loss": "0.5"},
    ),
    "a duration": ("time per step: 12 ms", {}),
    "Chinese: a total": ("总步数：3000", {}),
    "Chinese: a total and a step": (
        "总步数：3000，当前步数：340，损失：0.3",
        {"step": 340, "total": 3000, "loss": "0.3"},
    ),
    "settings": ("warmup_steps: 100, train_batch: 32, loss: CrossEntropy, log_steps=10", {}),
}
