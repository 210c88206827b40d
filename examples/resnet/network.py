"""A small residual network.

It uses group normalisation, not batch normalisation: the result does not depend on which images
share a batch, and there are no running statistics that would differ from worker to worker.
"""

from __future__ import annotations

import paddle
from paddle import nn

WIDTHS = (16, 32, 64)
GROUPS = 8


class Block(nn.Layer):  # type: ignore[misc]
    """Two convolutions beside a shortcut. A `stride` of 2 halves height and width."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self._body = nn.Sequential(
            nn.Conv2D(inputs, outputs, 3, stride=stride, padding=1, bias_attr=False),
            nn.GroupNorm(GROUPS, outputs),
            nn.ReLU(),
            nn.Conv2D(outputs, outputs, 3, padding=1, bias_attr=False),
            nn.GroupNorm(GROUPS, outputs),
        )
        self._shortcut = (
            nn.Identity()
            if stride == 1 and inputs == outputs
            else nn.Conv2D(inputs, outputs, 1, stride=stride, bias_attr=False)
        )

    def forward(self, features: paddle.Tensor) -> paddle.Tensor:
        """(n, inputs, height, width) to (n, outputs, height / stride, width / stride)."""
        return nn.functional.relu(self._body(features) + self._shortcut(features))


class ResNet(nn.Layer):  # type: ignore[misc]
    """Images (n, channels, height, width) to scores (n, classes)."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        stem = nn.Conv2D(channels, WIDTHS[0], 3, padding=1, bias_attr=False)
        inputs = (WIDTHS[0], *WIDTHS)
        blocks = [
            Block(inputs[depth], width, 1 if depth == 0 else 2)
            for depth, width in enumerate(WIDTHS)
        ]
        self._layers = nn.Sequential(
            stem, *blocks, nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(WIDTHS[-1], classes)
        )

    def forward(self, pixels: paddle.Tensor) -> paddle.Tensor:
        """Scores before the softmax, as `cross_entropy` takes them."""
        return self._layers(pixels)
