"""Policies from logits, over the legal actions alone."""

import torch
from torch import Tensor


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Logarithms of probabilities over the legal actions [n, A]; elsewhere the lowest finite float.

    `logits` [n, A] any float, `mask` bool [n, A] with a legal action in every row.
    """
    return torch.where(mask, logits, torch.finfo(logits.dtype).min).log_softmax(dim=-1)
