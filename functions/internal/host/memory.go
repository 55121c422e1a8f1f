package host

import (
	"runtime/debug"
	"strconv"
)

// A gateway keeps little and makes much garbage: with the usual pace of the
// collector a heap of a few megabytes is collected many times a second. These
// let it grow to a few dozen instead, and on Lambda never near the function's
// memory.
const (
	collectAt   = 400 // percent of what is live
	limitOfFull = 70  // percent of the function's memory
)

// TuneMemory sets the collector's pace, unless the operator has set GOGC or
// GOMEMLIMIT. lookup reads variables of the environment.
func TuneMemory(lookup func(string) (string, bool)) {
	if _, set := lookup("GOGC"); !set {
		debug.SetGCPercent(collectAt)
	}
	if _, set := lookup("GOMEMLIMIT"); set {
		return
	}
	size, _ := lookup("AWS_LAMBDA_FUNCTION_MEMORY_SIZE") // in MB
	if megabytes, err := strconv.ParseInt(size, 10, 32); err == nil && megabytes > 0 {
		debug.SetMemoryLimit(megabytes << 20 / 100 * limitOfFull)
	}
}
