"""Take every other place of pictures before a convolution of single places, to the same sums.

oneDNN's gradient of a 1x1 convolution with a stride writes past its room where a place has fewer
channels than a register (github.com/uxlfoundation/oneDNN/issues/6035, in torch 2.13): it ends the
process or spoils other numbers. With the stride taken before, that kernel is not used.
"""

from torch import Tensor

from evener.train.conv_layers import ConvLayer


def takes_places(layer: ConvLayer) -> bool:
    """Return whether a layer is a convolution of single places that leaves some out."""
    return layer.operation == "conv" and layer.kernel == 1 and layer.stride > 1


def taken_places(y_BCHW: Tensor, layer: ConvLayer) -> Tensor:
    """Return the places that such a layer sees, (B, C, height / stride, width / stride)."""
    return y_BCHW[:, :, :: layer.stride, :: layer.stride]
