# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs: making them with moe-compile, packing them for a machine
that has no compiler, loading and launching them through libMoERuntime.

Needs nothing but Python's own library.
"""

import concurrent.futures
import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from ctypes import byref, c_int, c_size_t, c_uint8, c_void_p

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_HERE, "..", "..", "Runtime", "Inputs"))
import moe_runtime

ELEMENT_TYPES = {"f32": 1, "f16": 2, "bf16": 3, "i32": 7, "i64": 8}
ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8}
PACK_NAME = "pack.zip"


def bytes_of(element, shape):
    count = ELEMENT_BYTES[element]
    for extent in shape:
        count *= extent
    return count


# ===---------------------------------------------------------------------------
# Compiling
# ===---------------------------------------------------------------------------


def find_cuda_tool(name):
    """The path of a program of the CUDA toolkit, or None."""
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        found = home and shutil.which(name, path=os.path.join(home, "bin"))
        if found:
            return found
    return shutil.which(name)


def find_ptxas():
    """The path of the CUDA assembler, or None."""
    return find_cuda_tool("ptxas")


def assemble(ptxas, ptx_path, cubin_path):
    """Assembles for sm_90a. Returns what ptxas reports, as a dict; an `error`
    in it if it failed."""
    done = subprocess.run(
        [ptxas, "-arch=sm_90a", "-v", ptx_path, "-o", cubin_path],
        capture_output=True,
        text=True,
    )
    report = done.stdout + done.stderr
    if done.returncode:
        return {"error": report.strip()[-2000:]}

    def numbers(pattern):
        return [int(n) for n in re.findall(pattern, report)]

    return {
        "registers": max(numbers(r"Used (\d+) registers"), default=0),
        "spill_bytes": sum(numbers(r"(\d+) bytes spill")),
        "warnings": sorted(set(re.findall(r"\(C75\d\d\)", report))),
    }


def _compile_one(job, folder, moe_compile, target, ptxas):
    stem = os.path.join(folder, job["program"])
    with open(stem + ".mlir", "w") as file:
        file.write(job["text"])
    start = time.time()
    command = [moe_compile, stem + ".mlir", "--target=" + target, "--emit=ptx"]
    done = subprocess.run(
        command + job["options"] + ["-o", stem + ".ptx"],
        capture_output=True,
        text=True,
    )
    entry = {"options": job["options"], "seconds": round(time.time() - start, 2)}
    if done.returncode:
        entry["error"] = (done.stderr or done.stdout).strip()[-2000:]
        entry["returncode"] = done.returncode
        return entry
    if done.stderr.strip():
        entry["stderr"] = done.stderr.strip()[-2000:]
    if ptxas:
        entry["ptxas"] = assemble(ptxas, stem + ".ptx", stem + ".cubin")
        if "error" in entry["ptxas"]:
            entry["error"] = "ptxas: " + entry["ptxas"]["error"]
    return entry


def compile_all(jobs, folder, moe_compile, target="h200", ptxas=None,
                processes=2, extra=None):
    """Compiles jobs, dicts of `name`, `text` (MLIR) and `options`, into folder,
    equal ones once. Writes folder/manifest.json and folder/pack.zip, which
    `Pack` reads, and returns the manifest: `jobs` (name -> program), `programs`
    (program -> how it went) and `extra`, any JSON of the caller."""
    os.makedirs(folder, exist_ok=True)
    names, unique = {}, {}
    for job in jobs:
        key = json.dumps([job["text"], job["options"]])
        # The program is called after the first job that needs it.
        unique.setdefault(key, {**job, "program": job["name"]})
        names[job["name"]] = unique[key]["program"]
    manifest = {"target": target, "jobs": names, "programs": {},
                "extra": extra or {}}
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        futures = {
            pool.submit(
                _compile_one, job, folder, moe_compile, target, ptxas
            ): job["program"]
            for job in unique.values()
        }
        done = concurrent.futures.as_completed(futures)
        for count, future in enumerate(done, 1):
            program, entry = futures[future], future.result()
            manifest["programs"][program] = entry
            state = entry.get("error", "ok").splitlines()[0][:150]
            print(f"[{count}/{len(futures)}] {program} {entry['seconds']} s "
                  f"{state}", flush=True)
    write_pack(folder, manifest)
    return manifest


def write_pack(folder, manifest):
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump(manifest, file, indent=1, sort_keys=True)
    path = os.path.join(folder, PACK_NAME)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        out.write(os.path.join(folder, "manifest.json"), "manifest.json")
        for program, entry in sorted(manifest["programs"].items()):
            for suffix in () if "error" in entry else (".json", ".ptx"):
                out.write(os.path.join(folder, program + suffix),
                          program + suffix)
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB")


def report_failures(manifest):
    """Prints what did not compile or compiled badly; returns the number of
    failures."""
    failures = 0
    for program, entry in sorted(manifest["programs"].items()):
        checked = entry.get("ptxas", {})
        if "error" in entry:
            failures += 1
            print(f"FAILED {program}: {entry['error']}")
        elif checked.get("warnings") or checked.get("spill_bytes"):
            print(f"note {program}: {checked}")
    return failures


class Pack:
    """What compile_all wrote: a folder of its kind, or the pack alone."""

    def __init__(self, path):
        if os.path.isdir(path):
            path = os.path.join(path, PACK_NAME)
        self.archive = zipfile.ZipFile(path)
        self.manifest = json.loads(self.archive.read("manifest.json"))

    def digest(self):
        return hashlib.sha256(self.archive.read("manifest.json")).hexdigest()

    def error(self, name):
        """Why that job has no program, or None."""
        if name not in self.manifest["jobs"]:
            return "the pack holds no such job"
        return self.entry(name).get("error")

    def entry(self, name):
        return self.manifest["programs"][self.manifest["jobs"][name]]

    def read(self, name):
        """(launch file, PTX) of a job, as bytes."""
        program = self.manifest["jobs"][name]
        return (
            self.archive.read(program + ".json"),
            self.archive.read(program + ".ptx"),
        )


# ===---------------------------------------------------------------------------
# Command lines of scripts that compile here and run there
# ===---------------------------------------------------------------------------


def add_arguments(parser):
    """Adds the arguments that `compile_by` and the run of a pack need."""
    parser.add_argument("--compile", metavar="DIR")
    parser.add_argument("--moe-compile", default="moe-compile")
    parser.add_argument("--target", default="h200")
    parser.add_argument("--ptxas", help="also assemble, to see warnings")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--run", metavar="PACK")
    parser.add_argument("--runtime", metavar="LIB")
    parser.add_argument("--json", metavar="OUT")
    parser.add_argument("--emulate", action="store_true",
                        help="on the fake driver, to try the script itself")


def compile_by(args, jobs, extra):
    """`compile_all` as the arguments say. Returns the numbers of programs that
    were compiled, and that failed."""
    manifest = compile_all(jobs, args.compile, args.moe_compile, args.target,
                           args.ptxas, args.jobs, extra)
    failures = report_failures(manifest)
    return len(manifest["programs"]) - failures, failures


def write_json(path, content):
    """Replaces the file in one step: who ends the script finds a whole one."""
    with open(path + ".part", "w") as file:
        json.dump(content, file, indent=1)
    os.replace(path + ".part", path)


# ===---------------------------------------------------------------------------
# Running
# ===---------------------------------------------------------------------------


class RuntimeFailure(Exception):
    """A call of libMoERuntime failed."""


class Runtime:
    """libMoERuntime, on one device."""

    def __init__(self, path, device=0):
        self.library = ctypes.CDLL(os.path.abspath(path))
        self.library.moeRuntimeLastError.restype = ctypes.c_char_p
        self.library.moeProgramDestroy.restype = None
        # An int would be passed as 32 bits where a pointer is not declared.
        self.library.moeProgramLaunch.argtypes = [
            c_void_p, c_void_p, c_int, c_void_p]
        self.library.moeProgramReserve.argtypes = [c_void_p, c_void_p, c_int]
        self.device = device

    def check(self, status):
        if status:
            message = self.library.moeRuntimeLastError().decode()
            raise RuntimeFailure(f"status {status}: {message}")

    def device_info(self):
        info = moe_runtime.DeviceInfo()
        self.check(self.library.moeRuntimeDeviceInfo(self.device, byref(info)))
        return {
            "name": info.name.decode(),
            "capability": [info.major, info.minor],
            "multiprocessors": info.sm_count,
            "memory": info.total_memory,
        }

    def load(self, launch_file, image):
        return Program(self, launch_file, image)

    def malloc(self, size):
        """An address; 0 for no bytes."""
        data = c_void_p()
        self.check(
            self.library.moeDeviceMalloc(self.device, c_size_t(size), byref(data))
        )
        return data.value or 0

    def free(self, data):
        self.check(self.library.moeDeviceFree(self.device, c_void_p(data)))

    def to_device(self, data, source, stream=None):
        """Copies bytes."""
        source = bytes(source)
        self.check(
            self.library.moeCopyToDevice(
                self.device, c_void_p(data), source, c_size_t(len(source)), stream
            )
        )

    def to_host(self, data, size, stream=None):
        target = (c_uint8 * size)()
        self.check(
            self.library.moeCopyToHost(
                self.device, target, c_void_p(data), c_size_t(size), stream
            )
        )
        return bytes(target)

    def create_stream(self):
        stream = c_void_p()
        self.check(self.library.moeStreamCreate(self.device, byref(stream)))
        return stream

    def synchronize(self, stream):
        self.check(self.library.moeStreamSynchronize(self.device, stream))


class Program:
    """A loaded program."""

    def __init__(self, runtime, launch_file, image):
        self.runtime = runtime
        self.handle = c_void_p()
        runtime.check(
            runtime.library.moeProgramLoadData(
                launch_file,
                c_size_t(len(launch_file)),
                image,
                c_size_t(len(image)),
                runtime.device,
                byref(self.handle),
            )
        )

    def arguments(self):
        """(name, element type number, dims) of each argument."""
        count = c_int()
        library, check = self.runtime.library, self.runtime.check
        check(library.moeProgramNumArguments(self.handle, byref(count)))
        result = []
        for i in range(count.value):
            info = moe_runtime.ArgumentInfo()
            check(library.moeProgramArgument(self.handle, i, byref(info)))
            dims = tuple(info.dims[: info.rank])
            result.append((info.name.decode(), info.element_type, dims))
        return result

    def launch(self, buffers, stream=None):
        """Enqueues a launch on buffers made by `buffers_of`."""
        self.runtime.check(
            self.runtime.library.moeProgramLaunch(
                self.handle, buffers, len(buffers), stream
            )
        )

    def reserve(self, buffers):
        self.runtime.check(
            self.runtime.library.moeProgramReserve(
                self.handle, buffers, len(buffers)
            )
        )

    def destroy(self):
        self.runtime.library.moeProgramDestroy(self.handle)
        self.handle = c_void_p()


def buffers_of(operands):
    """The argument array of a launch from (address, element type, shape)s."""
    return (moe_runtime.Buffer * len(operands))(
        *(
            moe_runtime.buffer(address, ELEMENT_TYPES[element], *shape)
            for address, element, shape in operands
        )
    )


class Loader:
    """Assembles and loads the programs of a pack ahead of their use, in the
    background, since the assembler takes longer than most tests."""

    def __init__(self, pack, runtime, names, image="cubin", workers=None,
                 transform=None, folder=None):
        """image: `cubin` assembles with ptxas if there is one, `ptx` leaves it
        to the driver. transform(launch file, PTX) gives what to load instead.
        folder: keeps what is assembled for the next loader of this pack."""
        self.pack, self.runtime, self.transform = pack, runtime, transform
        self.ptxas = find_ptxas() if image == "cubin" else None
        self.is_own_folder = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="moe-cubin-")
        workers = workers or min(16, os.cpu_count() or 1)
        self.pool = concurrent.futures.ThreadPoolExecutor(workers)
        texts = {name: pack.read(name) for name in names if not pack.error(name)}
        self.futures = {
            name: self.pool.submit(self._image, name, *text)
            for name, text in texts.items()
        }

    def _image(self, name, launch_file, ptx):
        if self.transform:
            launch_file, ptx = self.transform(launch_file, ptx)
        if not self.ptxas:
            return launch_file, ptx, {}
        stem = os.path.join(self.folder, name)
        report = {}
        if not os.path.exists(stem + ".cubin"):
            with open(stem + ".ptx", "wb") as file:
                file.write(ptx)
            report = assemble(self.ptxas, stem + ".ptx", stem + ".part")
            if "error" in report:
                raise RuntimeFailure("ptxas: " + report["error"])
            os.replace(stem + ".part", stem + ".cubin")
        with open(stem + ".cubin", "rb") as file:
            return launch_file, file.read(), report

    def load(self, name):
        """(program, what ptxas reported)"""
        launch_file, image, report = self.futures[name].result()
        return self.runtime.load(launch_file, image), report

    def close(self):
        self.pool.shutdown(wait=False, cancel_futures=True)
        if self.is_own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


# ===---------------------------------------------------------------------------
# Without a GPU
# ===---------------------------------------------------------------------------

_PARAMETER_BYTES = {"tensor_map": 128, "i32": 4}


def fake_image(launch_file):
    """An image of the same kernels for the fake driver of the unit tests
    (unittests/Runtime/FakeCudaDriver.cpp), whose kernels do nothing."""
    lines = []
    for launch in json.loads(launch_file)["launches"]:
        sizes = [_PARAMETER_BYTES.get(p["kind"], 8) for p in launch["parameters"]]
        lines.append(" ".join(["kernel", launch["kernel"], *map(str, sizes)]))
    return "\n".join(lines).encode() + b"\0"


def fake_launch_file(case):
    """A launch file as moe-compile would write it for a case, with a kernel
    that has no tensor maps: for dry runs before there is a compiler."""
    operands = case.operands(-1, -1) if case.rows == "dynamic" else case.operands()
    arguments = [
        {
            "name": name,
            "element_type": element,
            "shape": list(shape),
            "access": "readwrite" if name == "result" else "read",
        }
        for name, element, shape in operands
    ]
    launch = {
        "kernel": "main_0",
        "grid": [["min", ["dim", 0, 0], 132], 1, 1],
        "block": [256, 1, 1],
        "shared_memory": 1024,
        "parameters": [
            {"kind": "buffer", "buffer": i} for i in range(len(arguments))
        ],
    }
    return json.dumps(
        {
            "abi": 1,
            "target": "sm_90a",
            "image": "fake.ptx",
            "entry": "main",
            "arguments": arguments,
            "launches": [launch],
        }
    ).encode()
