# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cases of cases.py on a Hopper GPU and checks all that a launch
promises.

  --compile DIR --moe-compile PATH     compiles the cases; needs no GPU. Writes
                                       DIR/pack.zip, which is all that --run needs
  --run PACK --runtime LIB --json OUT  runs them; PACK is DIR or pack.zip
  --emulate                            with --run: no GPU; LIB runs on the fake
                                       driver that MOE_CUDA_DRIVER names, and
                                       torch computes what a kernel would
  --self-test                          shows that the checks find faults
  --table OUT                          prints a result file as Markdown

Phases of a case, each with outputs poisoned before and with memory around the
output and all inputs compared after:

  values   on fresh random data, against float64 (reference.py)
  repeat   again, on the default stream: the same bits
  graph    captured in a CUDA graph, replayed with other groups in place
  hostile  groups that no correct program passes: as the op clamps them
  token    NaN in one token and in all rows without an expert: one row NaN
  weights  NaN in one expert's weights and in those of all experts without rows:
           only that expert's rows are NaN

Cases run in a process of their own, which is replaced when a case breaks it or
hangs.
"""

import argparse
import collections
import contextlib
import ctypes
import dataclasses
import datetime
import json
import os
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import cases as case_list
import programs

PHASES = ("values", "repeat", "graph", "hostile", "token", "weights")
# Seconds that one case may take before its process is ended.
CASE_SECONDS = 45
# Processes that cases may break before the run ends.
MAX_LOST = 8
ALIGNMENT = 256
INPUT_GUARD = 1 << 12
# More than one row of any result: a row too far must land here.
OUTPUT_GUARD = 1 << 17


class CheckFailed(Exception):
    """A check found something wrong."""


def align(value):
    return -(-value // ALIGNMENT) * ALIGNMENT


# ===---------------------------------------------------------------------------
# Memory of a case
# ===---------------------------------------------------------------------------


class Layout:
    """Places of the operands of a case in one piece of memory, with guards of
    0xff bytes (NaN in every float type) before, between and after them."""

    def __init__(self, case, has_separate_init=False):
        self.places = {}
        odd = sum(map(ord, case.id)) % 2
        position = INPUT_GUARD
        operands = case.operands()
        *inputs, (_, result_type, result_shape) = operands
        if has_separate_init:
            inputs = inputs + [("init", result_type, result_shape)]
        for name, element, shape in inputs:
            # Every second case has the least alignment that the contract allows.
            least = 16 if name in ("tokens", "weights") else (
                programs.ELEMENT_BYTES[element]
            )
            start = align(position) + odd * least
            size = programs.bytes_of(element, shape)
            self.places[name] = (start, size, element, shape)
            position = start + size + INPUT_GUARD
        start = align(position + OUTPUT_GUARD)
        start += odd * programs.ELEMENT_BYTES[result_type]
        size = programs.bytes_of(result_type, result_shape)
        self.places["result"] = (start, size, result_type, result_shape)
        self.result_start, self.result_end = start, start + size
        self.size = align(self.result_end + OUTPUT_GUARD)


class Data:
    """The operands of a case as tensors in an arena."""

    def __init__(self, torch, case, arena, layout):
        self.torch, self.case, self.layout = torch, case, layout
        self.arena = arena[: layout.size]
        self.arena.fill_(0xFF)
        self.tensors, self.addresses = {}, {}
        for name, (start, size, element, shape) in layout.places.items():
            view = arena[start : start + size].view(dtype_of(torch, element))
            self.tensors[name] = view.view(shape)
            self.addresses[name] = arena.data_ptr() + start
        bits = torch.int32 if case.result_type == "f32" else torch.int16
        self.result_bits = self.tensors["result"].view(bits)
        # A NaN that no arithmetic makes: not the canonical one.
        self.poison = 0x7FA5A5A5 if bits == torch.int32 else 0x7FA5

    def buffers(self, has_separate_init):
        """The operands of a launch: (address, element type, shape)."""
        names = [name for name, _, _ in self.case.operands()]
        if has_separate_init:
            names.insert(-1, "init")
        result = []
        for name in names:
            _, _, element, shape = self.layout.places[name]
            result.append((self.addresses[name], element, shape))
        return result

    def fill_inputs(self, generator):
        torch, case, tensors = self.torch, self.case, self.tensors
        tensors["tokens"].normal_(generator=generator)
        tensors["weights"].normal_(std=case.depth**-0.5, generator=generator)
        if case.bias:
            tensors["bias"].normal_(generator=generator)
        if case.scale:
            # Of both signs, and away from zero.
            tensors["scale"].uniform_(-0.5, 0.5, generator=generator)
            tensors["scale"].add_(tensors["scale"].sign() * 0.5)
        if case.scatter:
            tensors["scatter"].copy_(self._scatter(generator))
        if "init" in tensors:
            self.bits_of("init").fill_(self.poison)
        self.set_groups(case.group_values(case.counts()))

    def _scatter(self, generator):
        """Distinct result rows; about one in eight is outside the result."""
        torch, case = self.torch, self.case
        device = self.arena.device
        rows = torch.randperm(
            case.num_result_rows, generator=generator, device=device
        )[: case.num_rows]
        outside = [-1, case.num_result_rows, 2**31 - 1, -(2**31)]
        if case.scatter == "i64":
            outside += [2**32, -(2**32) + 1, 2**63 - 1, -(2**63)]
        if case.num_rows > 1:
            rows[1::8] = torch.tensor(
                [outside[i % len(outside)] for i in range(len(rows[1::8]))],
                device=device,
                dtype=torch.int64,
            )
        return rows

    def bits_of(self, name):
        return self.tensors[name].view(self.result_bits.dtype)

    def set_groups(self, values):
        torch = self.torch
        self.groups = list(values)
        dtype = self.tensors["groups"].dtype
        self.tensors["groups"].copy_(torch.tensor(self.groups, dtype=dtype))

    def ranges(self):
        return case_list.row_ranges(self.case, self.groups, self.case.num_rows)

    def poison_result(self):
        self.result_bits.fill_(self.poison)

    def checksum(self):
        """Of everything but the result: inputs, guards, what lies between."""
        start, end = self.layout.result_start, self.layout.result_end
        total = 0
        for piece in (self.arena[:start], self.arena[end:]):
            # Eight bytes at a time, as far as that goes.
            skip = -piece.data_ptr() % 8
            whole = (piece.numel() - skip) // 8 * 8
            words = piece[skip : skip + whole].view(self.torch.int64)
            total += int(words.sum()) + int(piece[:skip].sum())
            total += int(piece[skip + whole :].sum())
        return total


def dtype_of(torch, element):
    return {
        "f32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "i32": torch.int32,
        "i64": torch.int64,
    }[element]


# ===---------------------------------------------------------------------------
# Machines
# ===---------------------------------------------------------------------------


class CudaMachine:
    device = "cuda"

    def __init__(self, torch, runtime):
        self.torch, self.runtime = torch, runtime
        self.stream = torch.cuda.Stream()
        self.capture_stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)

    def allocate(self, size):
        return self.torch.empty(size, dtype=self.torch.uint8, device="cuda")

    def launch(self, program, buffers, data, on_default_stream=False):
        if on_default_stream:
            self.synchronize()
            program.launch(buffers, None)
        else:
            program.launch(buffers, self.stream.cuda_stream)
        self.synchronize()

    def capture(self, program, buffers, data):
        """A function that replays a captured launch."""
        graph = self.torch.cuda.CUDAGraph()
        self.synchronize()
        with self.torch.cuda.stream(self.capture_stream):
            graph.capture_begin()
            try:
                program.launch(buffers, self.capture_stream.cuda_stream)
            except Exception:
                with contextlib.suppress(Exception):
                    graph.capture_end()
                raise
            graph.capture_end()

        def replay():
            graph.replay()
            self.synchronize()

        return replay

    def synchronize(self):
        self.torch.cuda.synchronize()


class EmulatedMachine:
    """Launches through the runtime and its fake driver, whose kernels do
    nothing, and computes with torch, optionally with a planted fault."""

    device = "cpu"

    def __init__(self, torch, runtime, fault=None):
        self.torch, self.runtime, self.fault = torch, runtime, fault
        self.launches = 0

    def allocate(self, size):
        address = self.runtime.malloc(size)
        memory = (ctypes.c_uint8 * size).from_address(address)
        return self.torch.frombuffer(memory, dtype=self.torch.uint8)

    def launch(self, program, buffers, data, on_default_stream=False):
        program.launch(buffers, None)
        self.launches += 1
        emulate(self.torch, data, self.fault, self.launches)

    def capture(self, program, buffers, data):
        frozen = list(data.groups)

        def replay():
            program.launch(buffers, None)
            groups = data.groups
            if self.fault == "stale-graph":
                data.groups = frozen
            emulate(self.torch, data, self.fault, 0)
            data.groups = groups

        return replay

    def synchronize(self):
        pass


def emulate(torch, data, fault, launch):
    """What the kernel does, in float32 and with torch's own activations."""
    case, tensors = data.case, data.tensors
    functional = torch.nn.functional
    activation = {
        "none": lambda z: z,
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda z: functional.gelu(z, approximate="tanh"),
        "relu": functional.relu,
        "relu2": lambda z: functional.relu(z).square(),
    }[case.activation]
    if fault == "wrong-activation":
        activation = lambda z: functional.silu(z) * 1.001
    ranges = data.ranges()
    if fault == "no-clamp":
        groups = [max(0, min(g, case.num_rows)) for g in data.groups]
        if case.group_kind == "offsets":
            ranges = list(zip(groups, groups[1:]))
    if fault == "expert-leak":
        leak = tensors["weights"].float().sum() * 0
    for expert, (first, end) in enumerate(ranges):
        if fault == "skip-row":
            end -= 1
        if first >= end:
            continue
        x, w = tensors["tokens"][first:end], tensors["weights"][expert]
        z = x.float() @ (w.T if case.layout == "nk" else w).float()
        if fault == "expert-leak":
            z = z + leak
        if fault == "token-leak":
            z = z + tensors["tokens"][first:, :1].float().sum() * 0
        if case.bias:
            z = z + tensors["bias"][expert].float()
        if case.gate == "concat":
            gate, up = z.chunk(2, dim=1)
            z = activation(gate) * up
        elif case.gate == "interleaved":
            z = activation(z[:, 0::2]) * z[:, 1::2]
        else:
            z = activation(z)
        if case.scale:
            z = z * tensors["scale"][first:end].float()[:, None]
        if fault == "nondeterministic" and launch % 2 == 0:
            z = z * (1 + 2.0**-6)
        result = tensors["result"]
        z = z.to(result.dtype)
        if case.scatter:
            rows = tensors["scatter"][first:end].long()
            kept = (rows >= 0) & (rows < len(result))
            result[rows[kept]] = z[kept]
        else:
            result[first:end] = z
    if fault == "overrun":
        data.arena[data.layout.result_end] = 7
    if fault == "underrun":
        data.arena[data.layout.result_start - 1] = 7
    if fault == "input":
        data.arena[data.layout.places["tokens"][0]] ^= 1
    if fault == "unowned-row" and ranges[-1][1] < case.num_rows:
        tensors["result"][-1] = 0


# ===---------------------------------------------------------------------------
# Checks
# ===---------------------------------------------------------------------------


class CaseRun:
    """One case on a machine."""

    def __init__(self, torch, machine, arena, case, program, seed):
        import reference

        self.torch, self.machine, self.case = torch, machine, case
        self.reference, self.program = reference, program
        self.rng = random.Random(seed)
        arguments = program.arguments()
        extra = len(arguments) - len(case.operands())
        if extra not in (0, 1):
            raise CheckFailed(f"the program's arguments are {arguments}")
        layout = Layout(case, has_separate_init=extra == 1)
        self.data = Data(torch, case, arena, layout)
        generator = torch.Generator(device=machine.device).manual_seed(seed)
        self.data.fill_inputs(generator)
        self.buffers = programs.buffers_of(self.data.buffers(extra == 1))

    @contextlib.contextmanager
    def watched(self):
        """Poisons the result, and afterwards compares all other memory."""
        data = self.data
        data.poison_result()
        before = data.checksum()
        yield
        if data.checksum() != before:
            raise CheckFailed("memory outside of the result changed: "
                              + self._find_damage())

    def _find_damage(self):
        data, layout = self.data, self.data.layout
        for name, (start, end) in {
            "the guard before the result": (
                layout.result_start - OUTPUT_GUARD, layout.result_start),
            "the guard behind the result": (
                layout.result_end, layout.size),
        }.items():
            wrong = (data.arena[start:end] != 0xFF).nonzero().flatten()
            if wrong.numel():
                return (f"{wrong.numel()} bytes of {name}, from byte "
                        f"{int(wrong[0])} to {int(wrong[-1])} of {end - start}")
        return "an input or a guard between inputs"

    def launch(self, **options):
        with self.watched():
            self.machine.launch(self.program, self.buffers, self.data, **options)

    def check_values(self):
        """Compares the result with the reference; returns what was measured."""
        torch, case, data = self.torch, self.case, self.data
        zero = torch.zeros((), dtype=torch.float64, device=self.machine.device)
        error, norm, worst = zero, zero.clone(), zero.clone()
        kept = torch.ones(case.num_result_rows, dtype=torch.bool,
                          device=self.machine.device)
        result = data.tensors["result"]
        for expert, first, end in self.reference.chunks(case, data.ranges()):
            value, bound = self.reference.expert_values(
                case, data.tensors, expert, first, end)
            source, target = self.reference.targets(
                case, data.tensors, first, end)
            if source is not None:
                value, bound = value[source], bound[source]
            kept[target] = False
            if not target.numel():
                continue
            difference = (result[target].double() - value).abs()
            error = error + difference.square().sum()
            norm = norm + value.square().sum()
            # torch.max, unlike Python's, keeps NaN.
            worst = torch.maximum(worst, (difference / bound).max())
        error, norm, worst = float(error), float(norm), float(worst)
        if error != error or not worst <= 1:
            raise CheckFailed(self._diagnose(worst))
        relative = (error / norm) ** 0.5 if norm else 0.0
        limit = self.reference.NORM_LIMITS[case.result_type]
        if not relative < limit and norm:
            raise CheckFailed(f"relative error {relative:.3g}, limit {limit}")
        self.check_kept(kept)
        return {"relative_error": relative, "worst_of_bound": worst}

    def check_kept(self, kept):
        rows = self.data.result_bits[kept]
        wrong = (rows != self.data.poison).any(dim=1).nonzero().flatten()
        if wrong.numel():
            rows = kept.nonzero().flatten()[wrong]
            raise CheckFailed(
                f"{rows.numel()} result rows that no group owns were written, "
                f"the first is row {int(rows[0])}")

    def _diagnose(self, worst):
        """Where the values are wrong, in a few words."""
        case, data, torch = self.case, self.data, self.torch
        text = [f"an element errs by {worst:.3g} of its bound"]
        for expert, first, end in self.reference.chunks(case, data.ranges()):
            value, bound = self.reference.expert_values(
                case, data.tensors, expert, first, end)
            source, target = self.reference.targets(
                case, data.tensors, first, end)
            if source is not None:
                value, bound = value[source], bound[source]
            found = data.tensors["result"][target].double()
            wrong = ~((found - value).abs() <= bound)
            if not wrong.any():
                continue
            rows = wrong.any(dim=1).nonzero().flatten().tolist()
            columns = wrong.any(dim=0).nonzero().flatten().tolist()
            where = wrong.nonzero()[:4].tolist()
            samples = ", ".join(
                f"[{r},{c}] {float(found[r, c]):.5g} for {float(value[r, c]):.5g}"
                for r, c in where)
            text.append(
                f"expert {expert} rows {first}..{end}: {int(wrong.sum())} of "
                f"{wrong.numel()} wrong, {len(rows)} rows {_span(rows)}, "
                f"{len(columns)} columns {_span(columns)}: {samples}")
            if len(text) > 3:
                break
        return "; ".join(text)

    # The phases.

    def values(self):
        self.launch()
        measured = self.check_values()
        self.bits = self.data.result_bits.clone()
        return measured

    def repeat(self):
        self.launch(on_default_stream=True)
        self.expect_same_bits("a second run")

    def expect_same_bits(self, what, rows=None):
        same = self.data.result_bits == self.bits
        if rows is not None:
            same = same | ~rows[:, None]
        wrong = (~same).any(dim=1).nonzero().flatten()
        if wrong.numel():
            raise CheckFailed(f"{what} changed {wrong.numel()} rows, the first "
                              f"is row {int(wrong[0])}")

    def graph(self):
        case, data = self.case, self.data
        original = list(data.groups)
        replay = self.machine.capture(self.program, self.buffers, data)
        measured = []
        try:
            for counts in self._other_counts():
                data.set_groups(case.group_values(counts))
                with self.watched():
                    replay()
                measured.append(self.check_values())
        finally:
            data.set_groups(original)
        with self.watched():
            replay()
        self.expect_same_bits("a replay")
        return _largest(measured)

    def _other_counts(self):
        """Other tokens of experts for the same R."""
        case, rng = self.case, self.rng
        free = case.num_rows - case.rows_before
        spread = [0] * case.experts
        rest = free
        for expert in rng.sample(range(case.experts), min(6, case.experts)):
            spread[expert] = rng.randint(0, rest)
            rest -= spread[expert]
        yield spread
        last = [0] * case.experts
        last[-1] = free
        yield last

    def hostile(self):
        case, data = self.case, self.data
        original = list(data.groups)
        measured = []
        try:
            for groups in case_list.hostile_groups(
                    case, case.num_rows, self.rng):
                data.set_groups(groups)
                self.launch()
                measured.append(self.check_values())
        except CheckFailed as error:
            raise CheckFailed(f"groups {str(data.groups)[:200]}: {error}")
        finally:
            data.set_groups(original)
        return _largest(measured)

    def token(self):
        """NaN in one token, and in all rows that no expert owns."""
        torch, case, data = self.torch, self.case, self.data
        tokens, ranges = data.tensors["tokens"], data.ranges()
        owned = torch.zeros(case.num_rows, dtype=torch.bool,
                            device=self.machine.device)
        for first, end in ranges:
            owned[first:end] = True
        saved = tokens.clone()
        tokens[~owned] = float("nan")
        starts = [first for first, end in ranges if first < end]
        # The first row of a group is padding in the tiles of the one before.
        chosen = self.rng.choice(starts[1:] or starts) if starts else None
        if chosen is not None:
            tokens[chosen] = float("nan")
        self.launch()
        rows = []
        if chosen is not None:
            _, target = self.reference.targets(
                case, data.tensors, chosen, chosen + 1)
            rows = target.tolist()
        self._expect_nan_rows(rows, "a NaN token")
        tokens.copy_(saved)

    def weights(self):
        """NaN in the weights of one expert, and of all without rows. The last
        phase: it does not restore them."""
        case, data = self.case, self.data
        weights, ranges = data.tensors["weights"], data.ranges()
        used = [e for e, (first, end) in enumerate(ranges) if first < end]
        chosen = self.rng.choice(used) if used else None
        rows = []
        for expert, (first, end) in enumerate(ranges):
            if expert == chosen or first == end:
                weights[expert] = float("nan")
            if expert == chosen:
                _, target = self.reference.targets(
                    case, data.tensors, first, end)
                rows = target.tolist()
        self.launch()
        self._expect_nan_rows(rows, "NaN weights of an expert")

    def _expect_nan_rows(self, rows, what):
        torch, data = self.torch, self.data
        is_other = torch.ones(self.case.num_result_rows, dtype=torch.bool,
                              device=self.machine.device)
        is_other[rows] = False
        self.expect_same_bits(what, rows=is_other)
        result = data.tensors["result"][rows]
        if rows and not bool(torch.isnan(result).all()):
            raise CheckFailed(f"{what}: its rows are not all NaN")
        if rows and bool((data.result_bits[rows] == data.poison).any()):
            raise CheckFailed(f"{what}: its rows were not written")


def _largest(measured):
    return {
        key: max(m[key] for m in measured)
        for key in ("relative_error", "worst_of_bound")
    }


def _span(numbers):
    if len(numbers) <= 6:
        return str(numbers)
    return f"{numbers[0]}..{numbers[-1]} ({numbers[:3]}...)"


# ===---------------------------------------------------------------------------
# The process that runs cases
# ===---------------------------------------------------------------------------


def run_case(torch, machine, arena, case, load, seed, phases=PHASES):
    """A record of what happened. Sets `broken` if the device cannot go on."""
    record = {"id": case.id, "case": dataclasses.asdict(case), "seed": seed,
              "rows": case.num_rows, "phases": {}}
    start = time.time()
    program = None
    try:
        program, report = load(case.id)
        record["ptxas"] = report
        record["load_seconds"] = round(time.time() - start, 3)
        run = CaseRun(torch, machine, arena, case, program, seed)
        for phase in phases:
            began = time.time()
            entry = {"ok": True}
            try:
                entry.update(getattr(run, phase)() or {})
            except CheckFailed as error:
                entry = {"ok": False, "error": str(error)}
            except Exception as error:
                entry = {"ok": False, "trace": traceback.format_exc()[-1500:],
                         "error": f"{type(error).__name__}: {error}"[:1500]}
                # Fails if the device is lost; then the case is over.
                machine.synchronize()
            finally:
                entry["seconds"] = round(time.time() - began, 3)
                record["phases"][phase] = entry
            # The others compare with the first.
            if phase == "values" and not entry["ok"]:
                break
    except Exception as error:  # Anything else is a finding about this case.
        record["error"] = f"{type(error).__name__}: {error}"[:1500]
        record["trace"] = traceback.format_exc()[-1500:]
    try:
        machine.synchronize()
        if program:
            program.destroy()
    except Exception as error:
        record["broken"] = f"{type(error).__name__}: {error}"[:500]
    record["ok"] = "error" not in record and "broken" not in record and all(
        entry["ok"] for entry in record["phases"].values())
    record["seconds"] = round(time.time() - start, 3)
    return record


def make_machine(torch, args, runtime):
    if not args.emulate:
        # Float64 is not affected; said all the same.
        torch.backends.cuda.matmul.allow_tf32 = False
        return CudaMachine(torch, runtime)
    return EmulatedMachine(torch, runtime, args.fault)


def emulated_texts(launch_file, ptx):
    return launch_file, programs.fake_image(launch_file)


def worker(args, pack, selected):
    """Runs cases and prints a line of JSON for each."""
    import torch

    runtime = programs.Runtime(args.runtime)
    machine = make_machine(torch, args, runtime)
    size = max(Layout(case, True).size for case in selected)
    arena = machine.allocate(size)
    loader = programs.Loader(
        pack, runtime, [case.id for case in selected],
        image="ptx" if args.emulate else args.image,
        transform=emulated_texts if args.emulate else None, folder=args.cache)
    print("READY", json.dumps(environment(torch, args, runtime)), flush=True)
    for case in selected:
        print("START", case.id, flush=True)
        seed = case_seed(args.seed, case)
        record = run_case(torch, machine, arena, case, loader.load, seed,
                          args.phases.split(","))
        print("DONE", json.dumps(record), flush=True)
        if "broken" in record:
            # An error of the device stays with its context.
            os._exit(3)
    loader.close()
    sys.stdout.flush()
    # Threads that wait for the assembler must not hold the process.
    os._exit(0)


def case_seed(seed, case):
    return random.Random(f"{seed} {case.id}").getrandbits(62)


def environment(torch, args, runtime):
    result = {
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "image": args.image,
        "emulated": args.emulate,
        "device": runtime.device_info(),
    }
    if not args.emulate:
        result["cuda"] = torch.version.cuda
        result["driver"] = driver_version()
    return result


def driver_version():
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version",
             "--format=csv,noheader"], capture_output=True, text=True)
        return done.stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


# ===---------------------------------------------------------------------------
# The process that watches it
# ===---------------------------------------------------------------------------


class Watched:
    """A worker process and the lines it prints."""

    def __init__(self, ids, argv):
        command = [sys.executable, os.path.abspath(__file__), *argv,
                   "--worker", "--select", *ids]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def next(self, timeout):
        """A line; None at the end; raises queue.Empty after the timeout."""
        return self.lines.get(timeout=timeout)

    def end(self):
        self.process.kill()
        self.process.wait()


class Supervisor:
    def __init__(self, args, argv, pack, selected):
        self.args, self.argv, self.pack = args, argv, pack
        self.selected = selected
        self.records = {}
        self.environment = {}
        self.start = time.time()

    def run(self):
        pending = []
        for case in self.selected:
            error = self.pack.error(case.id)
            if error:
                self.record({"id": case.id, "ok": False, "seconds": 0,
                             "case": dataclasses.asdict(case),
                             "error": "not compiled: " + error})
            else:
                pending.append(case)
        for _ in range(MAX_LOST):
            if not pending or self.out_of_time():
                break
            done = self.run_worker(pending)
            if not done and self.out_of_time():
                break
            pending = [c for c in pending if c.id not in self.records]
            if not done and pending:
                # It died before its first case; a second try would, too.
                self.record({"id": pending[0].id, "ok": False, "seconds": 0,
                             "case": dataclasses.asdict(pending[0]),
                             "error": "the process ended before this case"})
                pending = pending[1:]
        return self.records

    def out_of_time(self):
        return time.time() - self.start > self.args.budget

    def record(self, record):
        self.records[record["id"]] = record
        self.write()
        phases = record.get("phases", {})
        measured = [p for p in phases.values() if "relative_error" in p]
        relative = max((p["relative_error"] for p in measured), default=0)
        worst = max((p["worst_of_bound"] for p in measured), default=0)
        case = case_list.case_of(record["case"])
        state = "ok" if record["ok"] else "FAILED"
        print(f"[{len(self.records)}/{len(self.selected)} "
              f"{time.time() - self.start:.0f}s] {case.id} {state} "
              f"{record['seconds']:.2f}s rel {relative:.1e} worst {worst:.2f} | "
              f"{case.describe()}", flush=True)
        for text in failures_of(record):
            print("    " + text[:1000], flush=True)

    def run_worker(self, pending):
        """Runs one process to its end; the number of cases that it finished."""
        worker = Watched([c.id for c in pending], self.argv)
        current, finished, since = None, 0, time.time()
        while True:
            if self.out_of_time():
                worker.end()
                return finished
            limit = CASE_SECONDS if current else 3 * CASE_SECONDS
            try:
                line = worker.next(timeout=1)
            except queue.Empty:
                if time.time() - since < limit:
                    continue
                worker.end()
                self.lost(current, f"no answer for {limit} s")
                return finished
            if line is None:
                worker.process.wait()
                self.lost(current, f"the process ended with status "
                                   f"{worker.process.returncode}")
                return finished
            since = time.time()
            word, _, rest = line.partition(" ")
            if word == "READY":
                self.environment = json.loads(rest)
                print("device:", rest, flush=True)
            elif word == "START":
                current = rest
            elif word == "DONE":
                current, finished = None, finished + 1
                self.record(json.loads(rest))
            else:
                print(line, flush=True)

    def lost(self, current, why):
        if current is None:
            return
        case = next(c for c in self.selected if c.id == current)
        self.record({"id": current, "ok": False, "seconds": 0, "error": why,
                     "case": dataclasses.asdict(case)})

    def write(self):
        if not self.args.json:
            return
        not_run = [c.id for c in self.selected if c.id not in self.records]
        content = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
                timespec="seconds"),
            "seed": self.args.seed,
            "pack": self.pack.digest(),
            "environment": self.environment,
            "phases": self.args.phases.split(","),
            "seconds": round(time.time() - self.start, 1),
            "not_run": not_run,
            "cases": list(self.records.values()),
        }
        programs.write_json(self.args.json, content)


def failures_of(record):
    if "error" in record:
        yield record["error"]
    if "broken" in record:
        yield "device lost: " + record["broken"]
    for phase, entry in record.get("phases", {}).items():
        if not entry["ok"]:
            yield f"{phase}: {entry['error']}"


def summary(records, not_run):
    """The short table."""
    lines = []
    passed = sum(r["ok"] for r in records)
    for element in ("bf16", "f16", "f32"):
        measured = [
            phase
            for r in records
            if case_list.case_of(r["case"]).result_type == element
            for phase in r.get("phases", {}).values()
            if "relative_error" in phase
        ]
        if measured:
            lines.append(
                f"result {element:4}: largest relative error "
                f"{max(p['relative_error'] for p in measured):.2e}, largest part "
                f"of the bound {max(p['worst_of_bound'] for p in measured):.2f}")
    for phase in PHASES:
        entries = [r["phases"][phase] for r in records
                   if phase in r.get("phases", {})]
        if entries:
            lines.append(f"phase {phase:8}: {sum(e['ok'] for e in entries)} of "
                         f"{len(entries)} passed, "
                         f"{sum(e['seconds'] for e in entries):.0f} s")
    failed = [r["id"] for r in records if not r["ok"]]
    if failed:
        lines.append("failed: " + " ".join(failed))
    if not_run:
        lines.append("not run: " + " ".join(not_run))
    lines.append(f"{passed} passed, {len(failed)} failed, {len(not_run)} not run")
    return lines


def markdown(content):
    """A result file as a table for people."""
    device = content["environment"].get("device", {})
    lines = [
        f"{device.get('name')}, driver {content['environment'].get('driver')}, "
        f"{content['date']}, seed {content['seed']}", "",
        "| case | what | largest relative error | part of the bound | result |",
        "|---|---|---|---|---|",
    ]
    for record in content["cases"]:
        measured = [p for p in record.get("phases", {}).values()
                    if "relative_error" in p]
        relative = max((p["relative_error"] for p in measured), default=0)
        worst = max((p["worst_of_bound"] for p in measured), default=0)
        state = "passed" if record["ok"] else "**failed**"
        what = case_list.case_of(record["case"]).describe()
        lines.append(f"| {record['id']} | {what} | "
                     f"{relative:.1e} | {worst:.2f} | {state} |")
    lines += [""] + summary(content["cases"], content["not_run"])
    return "\n".join(lines)


# ===---------------------------------------------------------------------------
# Self test
# ===---------------------------------------------------------------------------

# Fault -> the phase that must find it, or None for none.
FAULTS = {
    None: None,
    "wrong-activation": "values",
    "skip-row": "values",
    "overrun": "values",
    "underrun": "values",
    "input": "values",
    "unowned-row": "values",
    "nondeterministic": "repeat",
    "stale-graph": "graph",
    "no-clamp": "hostile",
    "token-leak": "token",
    "expert-leak": "weights",
}


def self_test(args):
    """Emulates small cases with each fault planted; true if every fault is
    found in the phase that is there to find it, and nothing else is."""
    import torch

    runtime = programs.Runtime(args.runtime)
    tests = case_list.sanitizer_cases()
    # No reference agrees with a wrong activation where there is none.
    chosen = [next(c for c in tests if c.slack and c.group_kind == "offsets")]
    ok = True
    for fault, expected in FAULTS.items():
        machine = EmulatedMachine(torch, runtime, fault)
        for case in tests if fault is None else chosen:
            arena = machine.allocate(Layout(case, True).size)
            launch_file = programs.fake_launch_file(case)

            def load(name):
                image = programs.fake_image(launch_file)
                return runtime.load(launch_file, image), {}

            record = run_case(torch, machine, arena, case, load, 1)
            found = [p for p, e in record["phases"].items() if not e["ok"]]
            good = found[:1] == ([expected] if expected else [])
            good = good and "error" not in record
            ok = ok and good
            if fault or not good:
                print(f"{fault}: found by {found or 'nothing'} "
                      f"{list(failures_of(record))[:1]}"
                      f"{'' if good else ' WRONG: expected ' + str(expected)}")
    print("self test", "passed" if ok else "failed")
    return ok


# ===---------------------------------------------------------------------------
# Command line
# ===---------------------------------------------------------------------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    programs.add_arguments(parser)
    parser.add_argument("--select", nargs="*", default=[],
                        help="ids, ranges A-B or FACTOR=LEVEL")
    parser.add_argument("--budget", type=float, default=1e9,
                        help="seconds after which no case starts")
    parser.add_argument("--seed", type=int,
                        help="of the data; a fresh one if left out")
    parser.add_argument("--image", choices=["cubin", "ptx"], default="cubin",
                        help="who assembles: ptxas ahead, or the driver")
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--fault", help="with --emulate: see FAULTS")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--table", metavar="RESULTS")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def compile_phase(args):
    known = case_list.all_cases() + case_list.sanitizer_cases()
    selected = case_list.select(known, args.select)
    if not args.select:
        selected = case_list.all_cases()
    compiled, failures = programs.compile_by(
        args, map(case_list.job, selected),
        extra={"cases": [dataclasses.asdict(c) for c in selected]})
    print(f"{compiled} programs compiled, {failures} failed")
    return 1 if failures else 0


def run_phase(args, argv):
    pack = programs.Pack(args.run)
    known = [case_list.case_of(c) for c in pack.manifest["extra"]["cases"]]
    selected = case_list.select(known, args.select)
    if args.worker:
        worker(args, pack, selected)
    if args.seed is None:
        args.seed = int.from_bytes(os.urandom(4), "little")
        argv = argv + ["--seed", str(args.seed)]
    with tempfile.TemporaryDirectory(prefix="moe-cubin-") as cache:
        supervisor = Supervisor(
            args, argv + ["--cache", cache], pack, selected)
        supervisor.run()
    supervisor.write()
    not_run = [c.id for c in selected if c.id not in supervisor.records]
    records = list(supervisor.records.values())
    print("\n".join(summary(records, not_run)))
    return 0 if all(r["ok"] for r in records) and not not_run else 1


def main(argv):
    args = parse(argv)
    if args.table:
        with open(args.table) as file:
            print(markdown(json.load(file)))
        return 0
    if args.self_test:
        return 0 if self_test(args) else 1
    status = 0
    if args.compile and not args.worker:
        status = compile_phase(args)
    if args.run:
        status = run_phase(args, argv) or status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
