# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a grouped matmul must give: float64 values and a bound for the error of
each element. On torch tensors of any device.

The bound, for one output element:

  accumulation   Products of 16-bit floats are exact in f32. The matrix unit adds
                 16 of them at a time to an f32 sum and cuts off below the last
                 bit of the largest term, so each of K / 16 steps errs by a few
                 units of 2^-24 of the sum so far. Errors of random sign grow as
                 sqrt(K); eps32 * sqrt(K) * sum |w| |x|, with eps32 = 2^-23, is
                 above even K / 16 full units in the last place of partial sums
                 of random data (which are of size sqrt(K) |w| |x|).
  bias, scale    one f32 rounding each.
  activation     its slope times the error so far, and 2^-20 |z| for approximate
                 exponentials and the polynomial for erf.
  gate           product rule.
  result         half a unit in the last place of the result's type.

Nothing else may happen to an element, so the bound has no free factor.
"""

import math

import torch

EPS32 = 2.0**-23
# Half a unit in the last place relative to the value, and half the distance of
# the smallest numbers.
ROUNDING = {
    "bf16": (2.0**-8, 2.0**-134),
    "f16": (2.0**-11, 2.0**-25),
    "f32": (2.0**-24, 2.0**-126),
}
# Largest admissible ||y - ref|| / ||ref||.
NORM_LIMITS = {"bf16": 5e-3, "f16": 1e-3, "f32": 1e-4}
# Elements of one float64 temporary.
CHUNK = 1 << 27


def _activate(kind, z, dz):
    """(value, error bound) of an activation of z, which errs by up to dz."""
    if kind == "none":
        return z, dz
    if kind == "relu":
        return z.clamp_min(0), dz
    if kind == "relu2":
        positive = z.clamp_min(0)
        return positive.square(), 2 * positive * dz + dz.square() + EPS32 * (
            positive.square()
        )
    if kind == "silu":
        value, slope = z * torch.sigmoid(z), 1.1
    elif kind == "gelu":
        value, slope = z / 2 * (1 + torch.erf(z / math.sqrt(2))), 1.13
    elif kind == "gelu_tanh":
        inner = math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)
        value, slope = z / 2 * (1 + torch.tanh(inner)), 1.13
    else:
        raise ValueError(kind)
    return value, slope * dz + 2.0**-20 * z.abs()


def expert_values(case, tensors, expert, first, end):
    """(values, bounds), float64, of rows [first, end) as rows of an expert."""
    x = tensors["tokens"][first:end].double()
    w = tensors["weights"][expert].double()
    if case.layout == "nk":
        w = w.T
    z = x @ w
    dz = EPS32 * math.sqrt(case.depth) * (x.abs() @ w.abs())
    del x, w
    if case.bias:
        z = z + tensors["bias"][expert].double()
    dz += EPS32 * z.abs()
    if case.gate == "none":
        value, error = _activate(case.activation, z, dz)
    else:
        if case.gate == "concat":
            half = case.result_columns
            first_half, second_half = slice(half), slice(half, None)
        else:
            first_half, second_half = slice(0, None, 2), slice(1, None, 2)
        gate, dgate = _activate(
            case.activation, z[:, first_half], dz[:, first_half]
        )
        up, dup = z[:, second_half], dz[:, second_half]
        value = gate * up
        error = dgate * up.abs() + gate.abs() * dup + dgate * dup
        error += EPS32 * value.abs()
    if case.scale:
        scale = tensors["scale"][first:end].double()[:, None]
        value, error = value * scale, error * scale.abs()
        error += EPS32 * value.abs()
    relative, absolute = ROUNDING[case.result_type]
    return value, error + relative * (value.abs() + error) + absolute


def chunks(case, ranges):
    """(expert, first, end) pieces of the experts' rows that fit memory."""
    step = max(1, CHUNK // max(case.depth, case.outputs))
    for expert, (first, end) in enumerate(ranges):
        for start in range(first, end, step):
            yield expert, start, min(start + step, end)


def targets(case, tensors, first, end):
    """(source rows relative to first, or None for all; result rows)."""
    if not case.scatter:
        return None, torch.arange(first, end, device=tensors["result"].device)
    rows = tensors["scatter"][first:end].long()
    inside = (rows >= 0) & (rows < tensors["result"].shape[0])
    kept = inside.nonzero().flatten()
    return kept, rows[kept]
