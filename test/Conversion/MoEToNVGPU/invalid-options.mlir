// RUN: moe-opt %s --convert-moe-to-nvgpu=multiprocessors=0 --verify-diagnostics

// A launch without blocks would leave the result as it is.
// expected-error @below {{convert-moe-to-nvgpu needs at least 1 multiprocessor, got 0}}
module {
}
