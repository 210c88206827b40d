"""Lines that people showed to each other when they asked about their training, and what they say.

The forms are those of the tools and of the programs; the values are made up.
"""

from typing import Any

BAR = "|███▌      |"
FORMERS = "[2026-01-02 03:04:05,678] [    INFO] -"
MM = "2026-01-02 03:04:05,678 - mmdet - INFO -"
LOSS: dict[str, Any] = {"loss": "0.31"}
STEP = LOSS | {"step": 340}
OF_1000 = STEP | {"total": 1000}
EPOCH = LOSS | {"epoch": "3"}
IN_EPOCH = STEP | EPOCH
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    # PaddlePaddle's own tools
    "PaddleDetection, with its memory": (
        "[01/02 03:04:05] ppdet.engine.callbacks INFO: Epoch: [3] [ 340/7000] learning_rate: "
        "0.000029 loss: 0.31 loss_cls: 0.1 loss_iou: 0.1 eta: 67 days, 10:28:48 batch_cost: 0.1 "
        "ips: 96.5 images/s, max_mem_reserved: 42000 MB, max_mem_allocated: 31000 MB",
        IN_EPOCH | {"rate": "96.5", "eta": 5826528},
    ),
    "PaddleClas of 2020": (
        "2026-01-02 03:04:05 INFO: epoch:3   train step:340  top1: 0.1000 top5: 0.2000 "
        "loss:  0.3100 lr: 0.100000, ips: 120.5 images/sec.",
        IN_EPOCH | {"rate": "120.5"},
    ),
    "PaddleClas of 2020: an epoch's end": (
        "2026-01-02 03:04:05 INFO: END epoch:3   train top1: 0.1 loss:  0.31  batch_cost: 0.2 s",
        EPOCH,
    ),
    "PaddleClas of 2020: a validation's end": (
        "2026-01-02 03:04:05 INFO: END valid top1: 0.0127 loss: 0.41  ips: 330.5 images/sec.",
        {},
    ),
    "PaddleHub of 2020": (
        "[2026-01-02 03:04:05,678] [   TRAIN] - step 340 / 1000: loss=0.31 f1=0.3 [step/sec: 4.8]",
        OF_1000,
    ),
    "PaddleSpeech of 2021": (
        "[INFO 2026/01/02 03:04:05 model.py:61] Train: Rank: 0, epoch: 3, step: 340, "
        "batch : 34/1876, lr: 0.0001, data time: 0.000s, batch size: 64, train_loss: 0.31",
        IN_EPOCH,
    ),
    "PaddleFleetX evaluates": (
        f"{FORMERS} [eval] epoch: 0, batch: 9/10, loss: 10.99, avg_eval_cost: 0.1 sec",
        {},
    ),
    "PaddleNLP: rates of an evaluation": (
        f"{FORMERS} eval_loss: 0.5, eval_runtime: 12.5, eval_samples_per_second: 10.1",
        {},
    ),
    "PaddleNLP's end": (
        f"{FORMERS} train_runtime: 120.5, train_samples_per_second: 10.1, train_loss: 0.31",
        LOSS | {"rate": "10.1"},
    ),
    "PaddleTS": (
        "[2026-01-02 03:04:05,678] [paddlets.models.common.callbacks.callbacks] [INFO] epoch 003| "
        "loss: 0.310000| val_0_mae: 0.412000| 0:00:02s",
        EPOCH,
    ),
    "PaddleViT": (
        "Epoch[003/020], Step[0034/0400], Loss: 0.31 (0.35), Avg Acc@1: 0.01",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.31"},
    ),
    "PaddleViT: an epoch's end": (
        "----- Epoch[003/020], Train Loss: 0.31, Train Acc: 0.02, time: 1234.5",
        LOSS | {"epoch": "3/20"},
    ),
    "PaddleViT validates": ("Val Step[0020/0100], Avg Loss: 1.2, Avg Acc@1: 0.7", {}),
    "PaddleOCR's settings": (
        "[2026/01/02 03:04:05] ppocr INFO:         print_batch_step : 10\n"
        "[2026/01/02 03:04:05] ppocr INFO:         eval_batch_step : [0, 2000]\n"
        "[2026/01/02 03:04:05] ppocr INFO: train dataloader has 340 iters\n"
        "[2026/01/02 03:04:05] ppocr INFO: During the training process, after the 0th iteration, "
        "an evaluation is run every 34 iterations",
        {},
    ),
    "a program of the guide": ("epoch: 3, batch_id: 340, loss is: 0.31, acc is: 0.98", IN_EPOCH),
    "an epoch, then other numbers": ("Train ===> Epoch: 3, id: 50, loss: 0.31, acc: 0.7", EPOCH),
    # bars
    "a bar after a loss": (
        f"Epoch: 3 Loss: 0.31:  34%{BAR} 340/1000 [01:11<02:18, 4.77it/s]",
        IN_EPOCH,
    ),
    "torchtune": (
        f"1|340|Loss: 0.31:  34%{BAR} 340/1000 [01:11<02:18,  4.77it/s]",
        OF_1000,
    ),
    "a bar after a sentence": (
        f"Training my big model now:  34%{BAR} 340/1000 [01:11<02:18,  4.77it/s]",
        {"step": 340, "total": 1000},
    ),
    "a bar that names its epoch": (
        f"Training for epoch 3 of bert:  34%{BAR} 34/100 [01:11<02:18,  4.77it/s]",
        {"step": 34, "epoch": "3"},
    ),
    "YOLO validates": (
        f"               Class     Images     Labels          P          R     mAP@.5:  34%{BAR} "
        "34/100 [00:10<00:20,  3.3it/s]",
        {},
    ),
    "YOLO reads its data": (
        f"train: Scanning labels.cache... 340 images, 0 corrupt:  34%{BAR} 340/999 "
        "[00:01<00:02, 9.1it/s]",
        {},
    ),
    "a bar of epochs": (f"Training epochs:  15%{BAR} 3/20 [10:00<1:00:00, 200s/it]", {}),
    "a bar in ASCII": (" 34%|###4      | 340/1000 [01:11<02:18,  4.77it/s, loss=0.31]", OF_1000),
    "Composer": (
        f"train          Epoch   3:   34%{BAR} 340/1000 [01:11<02:18,  4.77ba/s, "
        "loss/train/total=0.3100]         ",
        IN_EPOCH,
    ),
    "Composer, a line each": ("\t Train loss/train/total: 0.3100", LOSS),
    "NeMo": (
        f"Epoch 3:  34%{BAR} 340/1000 [01:11<02:18, 4.77it/s, reduced_train_loss=0.31, "
        "global_step=3339.0]",
        IN_EPOCH,
    ),
    "Keras, a line an epoch": (
        "Epoch 3/20\n100/100 - 5s - loss: 0.31 - acc: 0.9 - val_loss: 0.41 - 5s/epoch - 50ms/step",
        {"step": 300, "total": 2000, "epoch": "3/20", "loss": "0.31"},
    ),
    # other tools
    "MMDetection 2": (
        f"{MM} Epoch [3][340/7000]\tlr: 0.00125, eta: 1 day, 4:33:09, time: 0.5, memory: 6836, "
        "loss_rpn_cls: 0.1, s0.loss_cls: 0.2, s0.acc: 93.5, loss_bbox: 0.1, loss: 0.3100",
        IN_EPOCH | {"eta": 102789},
    ),
    "MMDetection 2 validates": (f"{MM} Epoch(val) [1][625]\tbbox_mAP: 0.3, bbox_mAP_50: 0.5", {}),
    "MXNet's range": (
        "Epoch[3] Batch [600-620]\tSpeed: 6.2 samples/sec\tLoss=0.31",
        EPOCH | {"rate": "6.2"},
    ),
    "MXNet's times": ("Epoch[3] Time cost=1883.112", {"epoch": "3"}),
    "MXNet validates": ("Epoch[3] Validation-Loss=87.4", {}),
    "fairseq in JSON": (
        '2026-01-02 03:04:05 | INFO | train_inner | {"epoch": 3, "update": 2.4, "loss": "0.31", '
        '"nll_loss": "5.6", "num_updates": "340", "loss_scale": "0.5"}',
        IN_EPOCH,
    ),
    "fairseq: an epoch's end": (
        '2026-01-02 03:04:05 | INFO | train | {"epoch": 3, "train_loss": "0.31", '
        '"train_nll_loss": "5.2", "train_num_updates": "340"}',
        IN_EPOCH,
    ),
    "fairseq validates": (
        "2026-01-02 03:04:05 | INFO | valid | epoch 003 | valid on 'valid' subset | loss 0.41 | "
        "num_updates 340",
        {},
    ),
    "fairseq validates in JSON": (
        '2026-01-02 03:04:05 | INFO | valid | {"epoch": 3, "valid_loss": "0.41", '
        '"valid_num_updates": "340"}',
        {},
    ),
    "DeiT": ('{"train_lr": 0.0007, "train_loss": 0.31, "test_loss": 1.2, "epoch": 3}', EPOCH),
    "icefall": (
        "2026-01-02 03:04:05,678 INFO [train.py:898] (0/4) Epoch 3, batch 340, loss[loss=0.31, "
        "simple_loss=0.3, over 5432.00 frames. ], tot_loss[loss=0.27], batch size: 20, lr: 1.0e-2",
        IN_EPOCH,
    ),
    "WeNet, whose fraction is an epoch and a batch": (
        "DEBUG TRAIN Batch 3/340 loss 0.31 loss_att 30.1 lr 0.001 rank 0",
        LOSS,
    ),
    "WeNet validates": ("DEBUG CV Batch 3/340 loss 25.5 loss_att 30.1 history loss 20.1", {}),
    "Ignite": ("Epoch[3] Iteration[340/1000] Loss: 0.31", IN_EPOCH),
    "Ignite, validated": ("Validation Results - Epoch: 3  Avg accuracy: 0.98 Avg loss: 0.05", {}),
    "an autoencoder": ("====> Epoch: 3 Average loss: 0.3100", EPOCH),
    "an autoencoder, tested": ("====> Test set loss: 0.4100", {}),
    "Informer": (
        "Epoch: 3, Steps: 340 | Train Loss: 0.31 Vali Loss: 0.41 Test Loss: 0.51",
        IN_EPOCH,
    ),
    "torchtitan": (
        "[titan] 2026-01-02 03:04:05,678 - root - INFO - step: 340  loss:  0.3100  memory: "
        "40.1GiB(50.1%)  tps: 5,000  tflops: 200.1  mfu: 40.1%",
        STEP,
    ),
    "a speech transformer": (
        "Epoch 3 | Iter 340 | Average Loss 0.310 | Current Loss 0.3341 | 202.6 ms/batch",
        IN_EPOCH,
    ),
    "a GAN's line": (
        "[Epoch 3/20] [Batch 34/400] [D loss: 0.5] [G loss: 0.7]",
        {"step": 834, "total": 8000, "epoch": "3/20"},
    ),
    # programs of one's own
    "below a head with a colon": (
        f"Epoch 3/20:\n 34%{BAR} 34/400 [01:11<02:18,  4.77it/s, loss=0.31]",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.31"},
    ),
    "below a head between lines": (
        "======== Epoch 3 / 20 ========\nTraining...\n  Batch    34  of    400.    Elapsed: 8.",
        {"step": 834, "total": 8000, "epoch": "3/20"},
    ),
    "in words": (
        "Epoch 3 of 20, batch 34 of 400, loss 0.31",
        {"step": 834, "total": 8000, "epoch": "3/20", "loss": "0.31"},
    ),
    "pairs": (
        "level=info ts=2026-01-02T03:04:05Z msg=train step=340 max_steps=1000 loss=0.31 ms=12",
        OF_1000,
    ),
    "JSON in JSON": (
        '{"ts": "2026", "metrics": {"loss": 0.31}, "step": 340, "epoch": 3}',
        IN_EPOCH,
    ),
    "a time with a zone": ("2026-01-02T03:04:05.678Z [340/1000] loss=0.31", OF_1000),
    "a network's mask": ("10.0.0.5/16 loss of link 3", {}),
    "a tensor": (
        "step 340 loss: tensor(0.3100, device='cuda:0', grad_fn=<NllLossBackward0>)",
        STEP,
    ),
    "a number of numpy": ("step 340 loss: np.float32(0.31)", STEP),
    "samples per second": (
        "step 340 samples per second: 812.5 loss 0.31",
        STEP | {"rate": "812.5"},
    ),
    "colours": ("\x1b[1mloss\x1b[0m: \x1b[31m0.31\x1b[0m, global_step: \x1b[33m340\x1b[0m", STEP),
    "two ranks": ("[rank0] step 340/1000 loss 0.33\n[rank1] step 340/1000 loss 0.31", OF_1000),
    "validations in between": (
        "step 340/1000 loss 0.31\nval step 10/20 loss 0.5\nValidate: [34/100] loss 0.41\n"
        "predict step 34/100\nval loss: 0.45",
        OF_1000,
    ),
    "an accumulation of gradients": ("accumulation step 3/8 loss 0.31", LOSS),
    "an accumulation in batches": ("micro-batch 3/8 loss 0.31", LOSS),
    "a loop inside a training without a total": (
        "global_step: 340, loss: 0.31\ninner step 3/8 loss 0.41",
        STEP,
    ),
    "a loss in percent": ("step 340 loss=31%", {"step": 340}),
    "a cost in percent": ("step 340 avg_cost: 31 %", {"step": 340}),
    "a share of the steps": ("step 34% loss 0.31", LOSS),
    "the time of a step": ("step: 12 ms, loss 0.31", LOSS),
    "a time after its name": ("step 340 ms 12.3 loss 0.31 s 0.2", STEP),
    "a loss after a time": ("took 12ms loss 0.31", LOSS),
    "a loss at the end": ("final loss: 0.31", LOSS),
    "pretraining": ("pretraining loss: 0.31", LOSS),
    "a validation's loss beside a step": ("step 340 dev loss 0.41", {"step": 340}),
    "a part of the loss in an epoch": ("epoch 3 ctc loss 0.31", EPOCH),
    "a loss of what nobody knows, beside the training's": (
        "step 340 loss 0.31\nstep 340 holdout loss 0.41",
        STEP,
    ),
    # in Chinese
    "Chinese: settings": ("每轮步数：100，梯度累积步数：8", {}),
    "Chinese: the training's steps": ("训练步数：340，损失：0.31", STEP),
    "Chinese: a progress": ("当前进度：340/1000，loss：0.31", OF_1000),
    "Chinese: an iteration": ("第340次迭代，损失为0.31", STEP),
    "Chinese: epochs": ("轮数: 3, 平均损失: 0.31, 测试准确率: 0.91", EPOCH),
    "Chinese: an epoch's end": ("第3轮训练完成，耗时120秒，平均损失0.31", EPOCH),
    "Chinese and English": ("epoch 3, 训练loss: 0.31, 验证loss: 0.41", EPOCH),
    "Chinese: a validation": ("第3轮验证：损失0.41，准确率0.9", {}),
    "Chinese: an evaluation": ("评估结果 step 34 loss 0.4", {}),
}
