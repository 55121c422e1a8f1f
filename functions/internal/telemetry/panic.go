package telemetry

import (
	"runtime"
	"strconv"
	"strings"
)

// Origin names where a panic came from, to be called by the deferred function
// that has recovered it: the panic's own text may hold content.
func Origin() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	thrown := false
	for {
		frame, more := frames.Next()
		if thrown && strings.HasPrefix(frame.Function, "holdfast/") {
			return frame.Function + ":" + strconv.Itoa(frame.Line)
		}
		thrown = thrown || frame.Function == "runtime.gopanic"
		if !more {
			return "unknown"
		}
	}
}
