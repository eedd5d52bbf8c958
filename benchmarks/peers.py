# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who is compared with. A peer's `measure(cell)` returns a dict with `us` and
`relative_error`, which every result is checked for before it is timed, or
raises: `Absent` if it has nothing to run there."""

import math

import problems

TORCH, BMM, TRITON = "torch._grouped_mm", "torch.bmm", "triton"
NAMES = [TORCH, BMM, TRITON]


class Absent(Exception):
    """The peer cannot run that, and says why."""


class TorchGroupedMm:
    def measure(self, data):
        torch, w = data.gpu.torch, data.w
        if data.cell.layout == "nk":
            w = w.transpose(1, 2)
        calls = [
            lambda x=x, off=off[1:].contiguous():
                torch._grouped_mm(x, w, offs=off)
            for x, off, _ in data.inputs
        ]
        return data.timed(calls)


class TorchBmm:
    """One batch for each expert with tokens. Weights are brought together
    beforehand, and the time of that is not counted, which favours this peer."""

    def measure(self, data):
        torch = data.gpu.torch
        hits = [[e for e, c in enumerate(counts) if c] for counts in data.counts]
        if any(len({c for c in counts if c}) > 1 for counts in data.counts):
            raise Absent("experts have different numbers of tokens")
        calls = []
        for (x, _, _), hit in zip(data.inputs, hits):
            if hit == list(range(hit[0], hit[-1] + 1)):
                w = data.w[hit[0] : hit[-1] + 1]
            else:
                w = data.w[torch.tensor(hit, device=data.gpu.device)]
            if data.cell.layout == "nk":
                w = w.transpose(1, 2)
            x = x.view(len(hit), -1, x.shape[1])
            calls.append(lambda x=x, w=w: torch.bmm(x, w).view(-1, w.shape[2]))
        return data.timed(calls)


class Triton:
    """Tunes on some of the routings, then times the best two on all."""

    FINALISTS = 2
    # Of a cell's ranking, in the result file.
    KEPT = 5

    def __init__(self, cells, arch, known, workers):
        """known: {cell: configurations that were the best, best first}."""
        import triton_peer

        self.module, self.known = triton_peer, known
        wanted = [(self.candidates(cell), cell.element, cell.k)
                  for cell in cells if cell.layout == "nk"]
        self.kernels = triton_peer.Kernels(wanted, arch, workers)

    def candidates(self, cell):
        if cell in self.known:
            return [self.module.Config(*c) for c in self.known[cell]]
        found = self.module.candidates(*problems.group_sizes(cell))
        # The interpreter is slow.
        return found[::9] if self.module.IS_INTERPRETED else found

    def measure(self, data):
        cell = data.cell
        if cell.layout != "nk":
            raise Absent("written for nk weights")
        if self.module.IS_INTERPRETED and cell.element == "bf16":
            raise Absent("Triton's interpreter multiplies the bits of bf16")
        problem = self.module.Problem(
            data.gpu.torch, data.gpu.device, cell.element, data.w,
            [(x, y) for x, _, y in data.inputs], data.counts)
        ranking, failures = self._tune(data, problem)
        results = []
        for _, config in ranking[: self.FINALISTS]:
            calls = problem.calls(self.kernels, config, len(data.inputs))
            results.append({**data.timed(calls), "config": list(config),
                            "config_name": self.module.name_of(config)})
        if not results:
            raise RuntimeError(f"no configuration runs: {failures}")
        best = min(results, key=lambda r: r["us"])
        # Both orientations, and both ways to load, are of interest by themselves.
        best["kinds"] = {}
        for us, config in ranking:
            best["kinds"].setdefault(self.module.kind_of(config), us)
        best["tuning"] = [[list(config), us] for us, config in ranking[: self.KEPT]]
        best["configs"] = len(ranking)
        best["failed_configs"] = len(failures)
        if failures:
            best["first_failure"] = failures[0]
        return best

    def _tune(self, data, problem):
        """([(microseconds, configuration)] from the best, failures)"""
        size = problems.bytes_and_flops(data.cell, data.counts[0])[0]
        number = math.ceil(problems.BYTES_OF_ROUTINGS / 2 / size)
        number = max(2, min(len(data.inputs), number))
        ranking, failures, best = [], [], math.inf
        for config in self.candidates(data.cell):
            try:
                calls = problem.calls(self.kernels, config, number)
                us = data.timed(calls, checks=1, milliseconds=10,
                                worth=1.3 * best)["us"]
                ranking.append((us, config))
                best = min(best, us)
            except Exception as error:
                failures.append(f"{self.module.name_of(config)}: "
                                f"{type(error).__name__}: {error}"[:200])
        return sorted(ranking, key=lambda r: r[0]), failures

    def close(self):
        self.kernels.close()


def all_peers(names, gpu, cells, arch, known, workers):
    """{name: peer or the reason why it is absent}"""
    torch = getattr(gpu, "torch", None)
    result = {}
    for name in names:
        if torch is None:
            result[name] = "PyTorch is not installed"
        elif name == TORCH:
            result[name] = TorchGroupedMm()
        elif name == BMM:
            result[name] = TorchBmm()
        else:
            try:
                result[name] = Triton(cells, arch, known, workers)
            except ImportError as error:
                result[name] = f"Triton cannot be imported: {error}"
    return result
