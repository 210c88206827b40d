"""What is read from lines in the form of many tools: all of it is right, and the rest is unknown.

The forms are those of the tools' own programs; the values are made up.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconcile.words.progress import MAX_INNER, MAX_LINES, Line, ProgressReader

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BAR = "|███▌      |"
RICH = "━━━━━━━━━━╺━━━━━━━━━"
FORMERS = "[2026-01-02 03:04:05,678] [    INFO] -"
GAN = "[01/02 03:04:05] ppgan.engine.trainer INFO:"
VIDEO = "[01/02 03:04:05] epoch:[  3/45 ]"
SPEECH = "2026-01-02 03:04:05.678 | INFO     | paddlespeech.s2t.training.trainer:do_train:252 -"
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    # PaddlePaddle's own tools
    "PaddleOCR": (
        "[2026/01/02 03:04:05] ppocr INFO: epoch: [3/500], global_step: 720, lr: 0.001000, "
        "acc: 0.4921, norm_edit_dis: 0.7, CTCLoss: 8.1, loss: 9.25, avg_reader_cost: 0.00031 s, "
        "avg_batch_cost: 0.31250 s, avg_samples: 128.0, ips: 9.5 samples/s, eta: 2 days, 20:01:28",
        {"step": 720, "epoch": "3/500", "loss": "9.25", "rate": "9.5", "eta": 244888},
    ),
    "PaddleOCR of 2020": (
        "[2026/01/02 03:04:05] root INFO: epoch: [0/100], iter: 40, lr: 0.001000, acc: 0.5, "
        "loss: 0.6939, reader_cost: 2.36 s, batch_cost: 2.39 s, samples: 5120, ips: 196.35729",
        {"step": 40, "epoch": "0/100", "loss": "0.6939", "rate": "196.357"},
    ),
    "PaddleOCR evaluates": ("eval model::  40%|████      | 4/10 [00:01<00:02,  2.9it/s]", {}),
    "PaddleOCR's best": (
        "[2026/01/02 03:04:05] ppocr INFO: best metric, acc: 0.81, start_epoch: 9, best_epoch: 8",
        {},
    ),
    "PaddleDetection": (
        "[01/02 03:04:05] ppdet.engine INFO: Epoch: [2] [ 340/7329] learning_rate: 0.001250 "
        "loss_xywh: 0.91 loss_iou: 4.1 loss_obj: 9.9 loss: 15.5 eta: 16:09:51 "
        "batch_cost: 0.4012 data_cost: 0.0004 ips: 19.9402 images/s",
        {"step": 340, "epoch": "2", "loss": "15.5", "rate": "19.9402", "eta": 58191},
    ),
    "PaddleDetection of 2020": (
        "2026-01-02 03:04:05,678-INFO: iter: 340, lr: 0.001333, 'loss_cls': '1.09', "
        "'loss_bbox': '0.42', 'loss': '3.41', eta: 1 day, 19:22:13, batch_cost: 0.38740 sec, "
        "ips: 2.58131 images/sec",
        {"step": 340, "loss": "3.41", "rate": "2.58131", "eta": 156133},
    ),
    "PaddleDetection evaluates": ("[01/02 03:04:05] ppdet.engine INFO: Eval iter: 100", {}),
    "PaddleSeg": (
        "2026-01-02 03:04:05 [INFO]\t[TRAIN] epoch: 2, iter: 340/1000, loss: 2.0859, "
        "lr: 0.009657, batch_cost: 0.5344, reader_cost: 0.07273, ips: 3.7425 samples/sec "
        "| ETA 25:04:16",
        {
            "step": 340,
            "total": 1000,
            "epoch": "2",
            "loss": "2.0859",
            "rate": "3.7425",
            "eta": 90256,
        },
    ),
    "PaddleSeg of 2020": (
        "epoch=2 step=340 lr=0.00966 loss=0.4412 acc=0.86 mIoU=0.31 step/sec=3.742 | ETA 00:04:16",
        {"step": 340, "epoch": "2", "loss": "0.4412", "eta": 256},
    ),
    "PaddleSeg's best": (
        "2026-01-02 03:04:05 [INFO]\tThe model with the best mIoU (0.71) was saved at iter 1000.",
        {},
    ),
    "PaddleClas": (
        "[2026/01/02 03:04:05] ppcls INFO: [Train][Epoch 3/20][Iter: 34/400]"
        "lr(LinearWarmup): 0.00125000, CELoss: 6.9, loss: 6.95, top1: 0.001, batch_cost: 0.20s, "
        "reader_cost: 0.01, ips: 320.5 samples/s, eta: 0:10:05",
        {
            "step": 834,
            "total": 8000,
            "epoch": "3/20",
            "loss": "6.95",
            "rate": "320.5",
            "eta": 605,
        },
    ),
    "PaddleClas evaluates": (
        "[2026/01/02 03:04:05] ppcls INFO: [Eval][Epoch 3][Iter: 10/40]CELoss: 6.9, loss: 6.9",
        {},
    ),
    "PaddleX": (
        "2026-01-02 03:04:05 [INFO]\t[TRAIN] Epoch=3/20, Step=34/400, loss=0.412, lr=0.0125, "
        "time_each_step=0.31s, eta=1:2:3",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.412", "eta": 3723},
    ),
    "PaddleX: an epoch's end": (
        "2026-01-02 03:04:05 [INFO]\t[TRAIN] Epoch 3 finished, loss=0.4123, acc1=0.9 .",
        {"loss": "0.4123"},
    ),
    "PaddleX evaluates": (
        "2026-01-02 03:04:05 [INFO]\t[EVAL] Finished, Epoch=3, acc1=0.910000 .",
        {},
    ),
    "PaddleVideo": (
        f"{VIDEO} train step:340  loss: 5.9912 lr: 0.0001 top1: 0.01 top5: 0.04 "
        "batch_cost: 0.31 sec, reader_cost: 0.01 sec, ips: 51.5 instance/sec, eta: 1 day, 1:02:03",
        {"step": 340, "epoch": "3/45", "loss": "5.9912", "rate": "51.5", "eta": 90123},
    ),
    "PaddleVideo validates": (
        f"{VIDEO} val step:40   loss: 4.1 top1: 0.2 batch_cost: 0.3 sec, ips: 60.1 instance/sec.",
        {},
    ),
    "PaddleNLP's trainer": (
        f"{FORMERS} loss: 7.1, learning_rate: 1e-05, global_step: 340, interval_runtime: 3.1, "
        "interval_samples_per_second: 10.3226, interval_steps_per_second: 0.3, epoch: 1.5",
        {"step": 340, "loss": "7.1", "rate": "10.3226"},
    ),
    "PaddleNLP's trainer, with its head": (
        f"{FORMERS} ***** Running training *****\n"
        f"{FORMERS}   Num examples = 10,000\n"
        f"{FORMERS}   Gradient Accumulation steps = 8\n"
        f"{FORMERS}   Total optimization steps = 1,250\n"
        f"{FORMERS}   Number of trainable parameters = 1,001,320,448 (per device)\n"
        f"{FORMERS} loss: 7.1, learning_rate: 1e-05, global_step: 340, progress_or_epoch: 0.816",
        {"step": 340, "total": 1250, "loss": "7.1"},
    ),
    "PaddleFormers": (
        f"{FORMERS} loss: 7.1, learning_rate: 1e-05, global_step: 340, progress_or_epoch: 0.272",
        {"step": 340, "loss": "7.1"},
    ),
    "ERNIE 4.5": (
        f"{FORMERS} loss: 11.25, loss_cur_dp: 11.31, learning_rate: 1.5e-06, global_step: 17, "
        + ", ".join(f"mem_{k}_gb: 12.345678" for k in range(16))
        + ", loss_scale: 32768.000000, global_runtime: 104.8, global_samples_per_second: 0.61, "
        "tokens_trained_current_step: 524288, timestamp: 1767323045678, progress_or_epoch: 0.0077",
        {"step": 17, "loss": "11.25", "rate": "0.61"},
    ),
    "ERNIE of 2019": (
        "epoch: 3, progress: 2/7, step: 340, loss: 10.5406, ppl: 19106.9, next_sent_acc: 0.625, "
        "speed: 0.84 steps/s, file: ./data/part-00002.gz, mask_type: mask_word",
        {"step": 340, "epoch": "3", "loss": "10.5406"},
    ),
    "ERNIE's examples": (
        "[INFO] 2026-01-02 03:04:05,678 [tune.py: 120]:\t[step 340] train loss 0.69314 lr 5e-5",
        {"step": 340, "loss": "0.69314"},
    ),
    "PaddleNLP's examples": (
        "[2026-01-02 03:04:05,678] [    INFO] - global step 340, epoch: 2, batch: 40, "
        "loss: 0.31250, accu: 0.91, speed: 3.10 step/s",
        {"step": 340, "epoch": "2", "loss": "0.3125"},
    ),
    "Transformer": (
        "[2026-01-02 03:04:05,678] [    INFO] step_idx: 340, epoch: 2, batch: 40, "
        "avg loss: 9.25, normalized loss: 7.88, ppl: 10404.5, avg_speed: 5.1 step/s",
        {"step": 340, "epoch": "2", "loss": "9.25"},
    ),
    "a student's loss": (
        "step_idx: 340, epoch: 2, batch: 40, teacher loss: 7.1, avg loss: 9.25, ppl: 10404.5",
        {"step": 340, "epoch": "2", "loss": "9.25"},
    ),
    "PaddleFleetX": (
        "[2026-01-02 03:04:05,678] [    INFO] - [train] epoch: [0/1], batch: [340/500000], "
        "loss: 10.99, avg_batch_cost: 0.31 sec, speed: 3.23 step/s, ips: 3303 tokens/s",
        {"step": 340, "epoch": "0/1", "loss": "10.99"},
    ),
    "PaddleSpeech, recognition": (
        f"{SPEECH} Train: Rank: 0, epoch: 2, step: 1340, lr: 0.00002, train_loss: 5.25, "
        "batch_size: 32, accum: 4, step_cost: 0.31, iter: 340, total: 938, reader_cost: 0.001, "
        "batch_cost: 0.32, samples: 32, ips samples/s: 100.25",
        {"step": 1340, "epoch": "2", "loss": "5.25", "rate": "100.25"},
    ),
    "PaddleSpeech validates": (
        f"{SPEECH} Valid: Rank: 0, epoch: 2, step: 1340, batch : 40/50, val_loss: 6.125",
        {},
    ),
    "PaddleSpeech: a validation's end": (f"{SPEECH} Epoch 2 Val info val_loss 6.125", {}),
    "PaddleSpeech, synthesis": (
        "[2026-01-02 03:04:05] [INFO] [trainer.py:167]  iter: 340/30000, Rank: 0, l1_loss: 0.91, "
        "duration_loss: 0.12, loss: 2.5, avg_reader_cost: 0.001 sec, avg_batch_cost: 0.32 sec, "
        "avg_samples: 64, avg_ips: 200.5 sequences/sec",
        {"step": 340, "total": 30000, "loss": "2.5", "rate": "200.5"},
    ),
    "PaddleSpeech, synthesis, evaluates": (
        "[2026-01-02 03:04:05] [INFO] [updater.py:271] Evaluate: l1_loss: 0.9, loss: 2.4",
        {},
    ),
    "PaddleGAN by steps": (
        f"{GAN} Iter: 340/1000 lr: 1.000e-04 loss_pixel: 0.125 batch_cost: 0.31 sec "
        "reader_cost: 0.01 sec ips: 51.5 images/s eta: 0:03:25",
        {"step": 340, "total": 1000, "loss": "0.125", "rate": "51.5", "eta": 205},
    ),
    "PaddleGAN by epochs": (
        f"{GAN} Epoch: 3/20, iter: 34/400 lr: 2.000e-04 G_A_loss: 0.4 D_A_loss: 0.3 "
        "batch_cost: 0.31 sec reader_cost: 0.01 sec ips: 3.4 images/s eta: 0:40:11",
        {"step": 834, "total": 8000, "epoch": "3/20", "rate": "3.4", "eta": 2411},
    ),
    "PaddleGAN of 2020": (
        f"{GAN} Epoch: 3, iters: 340 lr: 0.000200 G_idt_A_loss: 0.641 D_A_loss: 0.172 "
        "batch_cost: 0.27143 sec reader_cost: 0.00153 sec ips: 3.68421 images/s",
        {"step": 340, "epoch": "3", "rate": "3.68421"},
    ),
    "PaddleGAN tests": (f"{GAN} Test iter: [40/100]", {}),
    "GANs of 2020": (
        "epoch2: batch340: \n\t d_A_loss: 1.2; g_A_loss: 1.6; Batch_time_cost: 0.08",
        {"step": 340, "epoch": "2"},
    ),
    "PaddleRec": (
        "2026-01-02 03:04:05,678 - INFO - epoch: 2, batch_id: 340, auc:0.512345, "
        "loss:[0.6875],  avg_reader_cost: 0.001 sec, avg_batch_cost: 0.02 sec, "
        "avg_samples: 512.00000, ips: 20480.5 ins/s",
        {"step": 340, "epoch": "2", "loss": "0.6875", "rate": "20480.5"},
    ),
    "PaddleRec: an epoch's end": (
        "2026-01-02 03:04:05,678 - INFO - epoch: 2 done, auc: 0.61,loss:[0.5] epoch time: 9.10 s",
        {"loss": "0.5"},
    ),
    "PGL": (
        "[INFO] 2026-01-02 03:04:05,678 [   train.py:  110]:\tBatch 340 train-Loss 0.3125 "
        "train-Acc 0.91",
        {"step": 340, "loss": "0.3125"},
    ),
    "PGL by epochs": (
        "[INFO] 2026-01-02 03:04:05,678 [train.py:  98]:\tEpoch 34 (0.12 sec) Train Loss: 1.25, "
        "Train Acc: 0.61 Val Loss: 1.4, Val Acc: 0.6",
        {"loss": "1.25"},
    ),
    "PARL": (
        "[01-02 03:04:05 MainThread @train.py:120] Total Steps: 340 Reward: 21.5",
        {},
    ),
    "PARL by episodes": (
        "[01-02 03:04:05 MainThread @train.py:98] episode:340    e_greed:0.09   Test reward:190.5",
        {},
    ),
    "Paddle3D": (
        "2026-01-02 03:04:05,678 -     INFO - [TRAIN] epoch=2/160, iter=340/24000, "
        "loss=1.250000, lr=0.001000 | ETA 04:05:06",
        {"step": 340, "total": 24000, "epoch": "2/160", "loss": "1.25", "eta": 14706},
    ),
    "PaddleScience": (
        "[2026/01/02 03:04:05] ppsci MESSAGE: [Train][Epoch 3/20][Iter: 34/400] lr: 0.00100, "
        "loss: 0.62500, EQ: 0.5, BC: 0.1, reader_cost: 0.001s, batch_cost: 0.02s, "
        "ips: 51200.5 samples/s, eta: 0:02:03",
        {
            "step": 834,
            "total": 8000,
            "epoch": "3/20",
            "loss": "0.625",
            "rate": "51200.5",
            "eta": 123,
        },
    ),
    "PaddleHub": (
        "[2026-01-02 03:04:05,678] [   TRAIN] - Epoch=3/20, Step=34/400 loss=0.6250 acc=0.9125 "
        "lr=0.000100 step/sec=3.14 | ETA 00:40:11",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.625", "eta": 2411},
    ),
    "PaddleSlim": (
        "2026-01-02 03:04:05,678-INFO: epoch[2]-batch[340] lr: 0.1 - loss: 6.25; acc_top1: 0.01",
        {"step": 340, "epoch": "2", "loss": "6.25"},
    ),
    "Model.fit": (
        "Epoch 3/20\nstep  34/400 [=>............................] - loss: 0.6250 - acc: 0.9125 "
        "- ETA: 1:02:03 - 12ms/step",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.625"},
    ),
    "Model.fit, a line each": (
        "Epoch 3/20\nstep 340/400 - loss: 0.6250 - acc: 0.9125 - 12ms/step",
        {"step": 1140, "total": 8000, "epoch": "3/20", "loss": "0.625"},
    ),
    "Model.fit evaluates": (
        "Epoch 3/20\nstep 400/400 - loss: 0.6250 - 12ms/step\nEval begin...\n"
        "step 34/40 - loss: 0.7 - acc: 0.8 - 5ms/step",
        {"step": 1200, "total": 8000, "epoch": "3/20", "loss": "0.625"},
    ),
    # programs of 2018 and 2019
    "fluid": ("Pass 2, Batch 340, Cost 2.625", {"step": 340, "epoch": "2", "loss": "2.625"}),
    "fluid, with an array": (
        "Pass 2, Batch 340, Cost [array([2.625], dtype=float32)]",
        {"step": 340, "epoch": "2", "loss": "2.625"},
    ),
    "fluid, image classification": (
        "[Pass 2, train batch 340] \tloss 6.25, acc1 0.01, acc5 0.05, lr 0.10000, elapse 0.31 sec",
        {"step": 340, "epoch": "2", "loss": "6.25"},
    ),
    "fluid, image classification of 2018": (
        "Pass 2, trainbatch 340, loss 6.25, acc1 0.01, acc5 0.05, lr 0.10, time 0.31 sec",
        {"step": 340, "epoch": "2", "loss": "6.25"},
    ),
    "fluid, clicks": (
        "2026-01-02 03:04:05,678 - INFO - TRAIN --> pass: 2 batch: 340 loss: 0.6875 "
        "auc: 0.500826068453, batch_auc: 0.500826068453",
        {"step": 340, "epoch": "2", "loss": "0.6875"},
    ),
    "fluid, with a cost": (
        "2026-01-02 03:04:05,678 - Train --> pass: 2 batch_id: 340 avg_cost: 2.625, acc: 0.5",
        {"step": 340, "epoch": "2", "loss": "2.625"},
    ),
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
        {"loss": "3.125"},
    ),
    "validation first": ("epoch 3 | valid loss 2.25 | train loss 3.125", {"loss": "3.125"}),
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


def say(text: str) -> dict[str, Any]:
    """What the lines say; nothing of what they do not."""
    times = (START + timedelta(seconds=10 * i) for i in range(100))
    lines = [Line(time, line) for time, line in zip(times, text.split("\n"), strict=False)]
    read = ProgressReader().read(lines)
    epoch = "" if read.epoch is None else f"{read.epoch}/{read.epochs}".removesuffix("/None")
    said = {
        "step": read.step,
        "total": read.total,
        "epoch": epoch or None,
        "loss": dict(read.metrics).get("loss"),
        "rate": read.samples_per_second,
        "eta": read.remaining_seconds,
    }
    return {name: value for name, value in said.items() if value is not None}


@pytest.mark.parametrize(("text", "said"), FORMS.values(), ids=FORMS)
def test_a_form_is_read_whole_and_nothing_is_made_up(text, said):
    assert say(text) == said


def test_samples_show_that_it_trains():
    """Else a training whose steps nobody knows would have stalled by `of: Step`."""
    lines = [f"Train Epoch: 2 [{samples}/60000 (1%)]\tLoss: 0.3" for samples in (640, 1280, 1280)]
    read = ProgressReader().read(
        Line(START + timedelta(seconds=10 * i), line) for i, line in enumerate(lines)
    )
    assert read.last_step_time == START + timedelta(seconds=10)


def test_losses_without_steps_show_that_it_trains():
    texts = ["{'loss': 0.5, 'epoch': 0.1}", *["{'loss': 0.4, 'epoch': 0.2}"] * 2, "no news"]
    read = ProgressReader().read(
        Line(START + timedelta(seconds=10 * i), text) for i, text in enumerate(texts)
    )
    assert read.last_step_time == START + timedelta(seconds=10)


def test_a_loop_inside_the_training_shows_that_it_runs_but_not_for_ever():
    reader, steps = ProgressReader(), []
    reader.read([Line(START, "step 340/1000 loss 0.3")])
    for at in range(1, MAX_INNER + 2):
        now = START + timedelta(seconds=at)
        read = reader.read([Line(now, f"step {at}/500 loss 0.4")])
        assert read.last_step_time == now
        steps.append((read.step, dict(read.metrics)["loss"]))
    assert steps == [(340, "0.3")] * MAX_INNER + [(MAX_INNER + 1, "0.4")]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Eval begin...", "step {}/400 - loss: 0.5", (45, None, None)),
        ("Epoch 1/20", "step {}/400 - loss: 0.5", (45, None, None)),
        ("Epoch 1/20", "Epoch 3/20 step {}/400 loss: 0.5", (845, 8000, 3)),
        ("Total optimization steps = 1,250", "global_step: {}, loss: 0.5", (45, 1250, None)),
    ],
    ids=["evaluation", "epoch", "epoch beside the step", "total of a head"],
)
def test_after_lines_that_were_not_read_nothing_is_taken_from_those_before(before, after, said):
    """As for a new leader, which has not seen them either."""
    reader = ProgressReader()
    reader.read([Line(START, before)])
    read = reader.read([Line(START, after.format(at)) for at in range(46 - MAX_LINES, 46)])
    assert (read.step, read.total, read.epoch) == said


def test_an_estimate_is_that_of_the_last_step():
    reader = ProgressReader()
    texts = ["iter: 1, eta: 0:10:00, loss: 1", "saving", "iter: 2, loss: 1", "iter: 3, loss: 1"]
    read = [reader.read([Line(START, text)]).remaining_seconds for text in texts]
    assert read == [600, 600, None, None]
    assert reader.read([Line(START, "iter: 4, eta: 9999 days, 0:00:00")]).remaining_seconds is None
