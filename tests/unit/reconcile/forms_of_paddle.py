"""Lines of PaddlePaddle's own tools, of 2018 to today, and what they say.

The forms are those of the tools' own programs; the values are made up.
"""

from typing import Any

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
        {"epoch": "3", "loss": "0.4123"},
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
    "PaddleSpeech: a validation's end": (
        f"{SPEECH} Epoch 2 Val info val_loss 6.125",
        {"epoch": "2"},
    ),
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
        {"epoch": "2", "loss": "0.5"},
    ),
    "PGL": (
        "[INFO] 2026-01-02 03:04:05,678 [   train.py:  110]:\tBatch 340 train-Loss 0.3125 "
        "train-Acc 0.91",
        {"step": 340, "loss": "0.3125"},
    ),
    "PGL by epochs": (
        "[INFO] 2026-01-02 03:04:05,678 [train.py:  98]:\tEpoch 34 (0.12 sec) Train Loss: 1.25, "
        "Train Acc: 0.61 Val Loss: 1.4, Val Acc: 0.6",
        {"epoch": "34", "loss": "1.25"},
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
}
