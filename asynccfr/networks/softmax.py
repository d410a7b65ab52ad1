"""Policies from logits, over the legal actions alone."""

import torch
from torch import Tensor


def masked_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Probabilities over the legal actions [n, A]; exactly 0 elsewhere.

    `logits` [n, A] any float, `mask` bool [n, A] with a legal action in every row.
    """
    return masked_log_softmax(logits, mask).exp()


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Logarithms of `masked_softmax`; of an illegal action, the lowest finite float."""
    return logits.masked_fill(~mask, torch.finfo(logits.dtype).min).log_softmax(dim=-1)
