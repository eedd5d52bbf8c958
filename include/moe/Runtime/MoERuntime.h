/*===- MoERuntime.h - Load and launch compiled MoE programs -------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    */
/*===----------------------------------------------------------------------===*/
/*
 * The C ABI of libMoERuntime. It loads the pair that moe-compile writes, a
 * launch file (OUT.json) and a kernel image (OUT.ptx or OUT.cubin), and
 * launches it on a CUDA device. docs/abi.md specifies the launch file.
 *
 * The library opens the CUDA driver (libcuda.so.1) when it is first needed, so
 * it links, loads, and parses launch files on machines without one. The
 * environment variable MOE_CUDA_DRIVER names another library to open in its
 * place; it is meant for tests and is ignored in set-user-ID processes.
 *
 * Errors. Every function that can fail returns a MoEStatus, MOE_OK (0) on
 * success. On failure the outputs are left as they were unless stated, and
 * moeRuntimeLastError() says what was found and what to do about it. Pointers
 * are checked for null. No C++ exception leaves the library.
 *
 * Threads. Every function may be called from any thread at any time, except
 * that a handle must not be used while or after it is destroyed. Calls on one
 * program handle exclude each other; calls on two handles are independent.
 *
 * Contexts. Everything runs in the device's primary context, which the library
 * retains until the process ends: pointers and streams of the CUDA runtime
 * (and so of PyTorch and others) are valid here and the other way round. The
 * calling thread's current context is the same after a call as before it.
 *
 * Streams. A stream is a CUstream (the same as a cudaStream_t) passed as
 * void *; NULL is the legacy default stream.
 */

#ifndef MOE_RUNTIME_MOERUNTIME_H
#define MOE_RUNTIME_MOERUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MOE_RUNTIME_API __attribute__((visibility("default")))
#else
#define MOE_RUNTIME_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the launch contract that this library reads ("abi"). */
#define MOE_LAUNCH_ABI_VERSION 1

/** A device ordinal for moeProgramLoad: parse and check only. */
#define MOE_NO_DEVICE (-1)

/** What a call returned. The numbers are part of the ABI. */
typedef enum MoEStatus {
  MOE_OK = 0,
  /** An argument of the call is wrong: count, shape, element type, null or
   *  misaligned pointer, unknown device. */
  MOE_ERROR_INVALID_ARGUMENT = 1,
  /** The CUDA driver library is missing, too old, or fails to start. */
  MOE_ERROR_NO_DRIVER = 2,
  /** The driver works, but there is no CUDA device. */
  MOE_ERROR_NO_DEVICE = 3,
  /** The device is not one the program was compiled for. */
  MOE_ERROR_UNSUPPORTED_DEVICE = 4,
  /** The launch file cannot be read or breaks the contract. */
  MOE_ERROR_LAUNCH_FILE = 5,
  /** The kernel image cannot be read, is rejected by the driver, or does not
   *  hold the kernels that the launch file names. */
  MOE_ERROR_KERNEL_IMAGE = 6,
  /** Device memory would have to be allocated while the stream is being
   *  captured: call moeProgramReserve, or launch once, before the capture. */
  MOE_ERROR_CAPTURE = 7,
  /** Host or device memory is exhausted. */
  MOE_ERROR_OUT_OF_MEMORY = 8,
  /** Any other error of the CUDA driver, an earlier kernel's among them. */
  MOE_ERROR_CUDA = 9,
  /** A defect of this library. */
  MOE_ERROR_INTERNAL = 10
} MoEStatus;

/** Element types of buffers. The numbers are part of the ABI. */
typedef enum MoEElementType {
  MOE_ELEMENT_F32 = 1,
  MOE_ELEMENT_F16 = 2,
  MOE_ELEMENT_BF16 = 3,
  MOE_ELEMENT_F64 = 4,
  MOE_ELEMENT_I8 = 5,
  MOE_ELEMENT_I16 = 6,
  MOE_ELEMENT_I32 = 7,
  MOE_ELEMENT_I64 = 8,
  MOE_ELEMENT_F8E4M3FN = 9,
  MOE_ELEMENT_F8E5M2 = 10
} MoEElementType;

/** What the program does with an argument. */
typedef enum MoEAccess {
  MOE_ACCESS_READ = 1,
  MOE_ACCESS_WRITE = 2,
  MOE_ACCESS_READWRITE = 3
} MoEAccess;

/** How moeProgramTime issues launches: MOE_TIME_STREAM or MOE_TIME_GRAPH, to
 *  which MOE_TIME_RESTORE may be added (by `|`). */
typedef enum MoETimeMode {
  /** As a caller would: one moeProgramLaunch after the other. */
  MOE_TIME_STREAM = 0,
  /** Captured in a CUDA graph, which is replayed. */
  MOE_TIME_GRAPH = 1,
  /** Before each sample, and not timed, the arguments that the program reads
   *  and writes get back the contents that they had at the call. */
  MOE_TIME_RESTORE = 2
} MoETimeMode;

/** A dense, row-major device buffer: one argument of a launch. */
typedef struct MoEBuffer {
  /** Device address. May be NULL only if the buffer holds no element. Aligned
   *  to its element type; to 16 bytes where a tensor map reads it. Memory of
   *  the program's device, pinned host memory or managed memory. */
  void *data;
  /** A MoEElementType. */
  int32_t elementType;
  /** Number of entries of dims. */
  int32_t rank;
  /** Extents in elements, outermost first. Read during the call only. */
  const int64_t *dims;
} MoEBuffer;

/** What a program expects of one argument. */
typedef struct MoEArgumentInfo {
  /** Owned by the program, as dims is. */
  const char *name;
  /** A MoEElementType. */
  int32_t elementType;
  int32_t rank;
  /** Extents outermost first; -1 where only a launch fixes them. */
  const int64_t *dims;
  /** A MoEAccess. */
  int32_t access;
} MoEArgumentInfo;

/** A CUDA device. */
typedef struct MoEDeviceInfo {
  char name[256];
  /** Compute capability: 9 and 0 for Hopper. */
  int32_t major;
  int32_t minor;
  /** Number of streaming multiprocessors. */
  int32_t smCount;
  /** Most shared memory that one thread block can have, in bytes. */
  int32_t maxSharedMemoryPerBlock;
  /** Device memory in bytes. */
  uint64_t totalMemory;
} MoEDeviceInfo;

/** A loaded program, bound to one device. */
typedef struct MoEProgram MoEProgram;

/*===----------------------------------------------------------------------===*/
/* Errors and names                                                           */
/*===----------------------------------------------------------------------===*/

/** The message of the calling thread's latest failed call, or "". Never NULL;
 *  valid until that thread's next failed call. */
MOE_RUNTIME_API const char *moeRuntimeLastError(void);

/** The name of a MoEElementType as launch files spell it ("bf16"), or NULL if
 *  there is no such type. */
MOE_RUNTIME_API const char *moeElementTypeName(int elementType);

/** The size of an element in bytes, or 0 if there is no such type. */
MOE_RUNTIME_API int moeElementTypeSize(int elementType);

/*===----------------------------------------------------------------------===*/
/* Devices                                                                    */
/*===----------------------------------------------------------------------===*/

/** Writes the number of CUDA devices, possibly 0, to *count. Without a usable
 *  driver: MOE_ERROR_NO_DRIVER, and *count is 0. */
MOE_RUNTIME_API int moeRuntimeDeviceCount(int *count);

/** Describes the device of that ordinal, 0 to count - 1. */
MOE_RUNTIME_API int moeRuntimeDeviceInfo(int device, MoEDeviceInfo *info);

/*===----------------------------------------------------------------------===*/
/* Programs                                                                   */
/*===----------------------------------------------------------------------===*/

/** Reads the launch file at jsonPath and the kernel image that it names beside
 *  it, checks both, and loads the kernels on the device. With MOE_NO_DEVICE
 *  the file is read and checked, the image is not touched, no driver is
 *  needed, and the program can be inspected but not launched.
 *
 *  *program owns the loaded kernels, and the program's temporaries and
 *  workspace once a launch or moeProgramReserve made them. */
MOE_RUNTIME_API int moeProgramLoad(const char *jsonPath, int device,
                                   MoEProgram **program);

/** moeProgramLoad from memory: json holds the launch file's text, image the
 *  PTX text or the cubin (the file name in the launch file is then not used).
 *  Both are copied, and need no terminator; sizes in bytes. */
MOE_RUNTIME_API int moeProgramLoadData(const char *json, size_t jsonSize,
                                       const void *image, size_t imageSize,
                                       int device, MoEProgram **program);

/** Waits for the device to finish, then frees the program and its device
 *  memory. CUDA graphs that captured its launches must not be replayed
 *  afterwards. NULL is allowed. */
MOE_RUNTIME_API void moeProgramDestroy(MoEProgram *program);

/** Writes the name of the function that the program was compiled from. The
 *  string is owned by the program. */
MOE_RUNTIME_API int moeProgramEntry(const MoEProgram *program,
                                    const char **entry);

/** Writes the number of arguments of a launch. */
MOE_RUNTIME_API int moeProgramNumArguments(const MoEProgram *program,
                                           int *count);

/** Describes argument number index, 0 to count - 1. */
MOE_RUNTIME_API int moeProgramArgument(const MoEProgram *program, int index,
                                       MoEArgumentInfo *info);

/** Writes the number of results of the function that the program was compiled
 *  from. */
MOE_RUNTIME_API int moeProgramNumResults(const MoEProgram *program, int *count);

/** Writes the number of the argument that holds result number index, 0 to
 *  count - 1, after a launch: one of its own (MOE_ACCESS_WRITE), or an operand
 *  that is written in place (MOE_ACCESS_READWRITE). */
MOE_RUNTIME_API int moeProgramResultArgument(const MoEProgram *program,
                                             int index, int *argument);

/** Allocates what a launch on arguments of these shapes needs: temporaries and
 *  workspace. Data pointers are not looked at. Blocks until done. Later
 *  launches on the same or smaller shapes allocate nothing, and so may be
 *  captured. */
MOE_RUNTIME_API int moeProgramReserve(MoEProgram *program,
                                      const MoEBuffer *args, int numArgs);

/** Enqueues the program's kernels on the stream, in order, and returns without
 *  waiting for them. args holds one buffer per argument, in order.
 *
 *  All checks precede the first kernel: unless the driver itself refuses a
 *  launch, a call that fails has launched nothing. A first launch, and one on
 *  larger shapes than all before, allocates device memory and waits for the
 *  device; any other neither allocates nor waits, and encodes no tensor map
 *  for a (pointer, shape) that it saw recently. Such a launch can be captured
 *  in a CUDA graph and replayed, also with other contents of the buffers.
 *
 *  The program's temporaries and workspace serve one launch at a time. Two
 *  launches of one handle, replays of graphs included, must therefore be
 *  ordered: on one stream, or by events. For overlapping launches load the
 *  program twice. */
MOE_RUNTIME_API int moeProgramLaunch(MoEProgram *program, const MoEBuffer *args,
                                     int numArgs, void *stream);

/** Times launches with CUDA events, on the stream: after one untimed launch
 *  (and in MOE_TIME_GRAPH one untimed replay), it enqueues numSamples times
 *  launchesPerSample launches back to back, waits, and writes to
 *  microseconds[0 .. numSamples-1] each sample's time per launch in
 *  microseconds. Both counts are between 1 and 100000. mode is a MoETimeMode;
 *  MOE_TIME_GRAPH captures launchesPerSample launches in one graph, on a
 *  stream of its own if stream is NULL.
 *
 *  Every launch writes the results, and the last one's remain. With
 *  MOE_TIME_RESTORE the samples do the same work also where a launch reads what
 *  an earlier one wrote, and what remains is as if launchesPerSample launches
 *  had been all; device memory for a copy of the arguments of
 *  MOE_ACCESS_READWRITE is then needed during the call. */
MOE_RUNTIME_API int moeProgramTime(MoEProgram *program, const MoEBuffer *args,
                                   int numArgs, void *stream, int mode,
                                   int numSamples, int launchesPerSample,
                                   float *microseconds);

/*===----------------------------------------------------------------------===*/
/* Device memory and streams, for tools that have no other CUDA library       */
/*===----------------------------------------------------------------------===*/

/** Allocates bytes bytes on the device, aligned to 256. 0 bytes give NULL. */
MOE_RUNTIME_API int moeDeviceMalloc(int device, size_t bytes, void **data);

/** Frees memory of moeDeviceMalloc. NULL is allowed. */
MOE_RUNTIME_API int moeDeviceFree(int device, void *data);

/** Copies bytes bytes to the device, after the work already on the stream, and
 *  waits for it. */
MOE_RUNTIME_API int moeCopyToDevice(int device, void *target,
                                    const void *source, size_t bytes,
                                    void *stream);

/** Copies bytes bytes to the host, after the work already on the stream, and
 *  waits for it. */
MOE_RUNTIME_API int moeCopyToHost(int device, void *target, const void *source,
                                  size_t bytes, void *stream);

/** Sets bytes bytes to value, after the work already on the stream, and waits
 *  for it. */
MOE_RUNTIME_API int moeDeviceMemset(int device, void *target, uint8_t value,
                                    size_t bytes, void *stream);

/** Creates a stream that does not wait for the default stream. */
MOE_RUNTIME_API int moeStreamCreate(int device, void **stream);

/** Destroys a stream of moeStreamCreate once its work is done. */
MOE_RUNTIME_API int moeStreamDestroy(int device, void *stream);

/** Waits until the work on the stream is done; reports a kernel's failure. */
MOE_RUNTIME_API int moeStreamSynchronize(int device, void *stream);

#ifdef __cplusplus
}
#endif

#endif /* MOE_RUNTIME_MOERUNTIME_H */
