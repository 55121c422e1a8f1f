package host

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestTuneMemory(t *testing.T) {
	rows := []struct {
		name    string
		env     map[string]string
		percent int
		limit   int64
	}{
		{"nothing set", nil, collectAt, math.MaxInt64},
		{"on Lambda", map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256"}, collectAt, 256 << 20 / 100 * limitOfFull},
		{"the operator's pace", map[string]string{"GOGC": "50"}, 100, math.MaxInt64},
		{"the operator's limit", map[string]string{"GOMEMLIMIT": "1GiB", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256"}, collectAt, math.MaxInt64},
		{"nonsense", map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "-1"}, collectAt, math.MaxInt64},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			before, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
			defer func() { debug.SetGCPercent(before); debug.SetMemoryLimit(limit) }()
			TuneMemory(func(name string) (string, bool) { value, set := row.env[name]; return value, set })
			if got := debug.SetGCPercent(100); got != row.percent {
				t.Errorf("percent %d, want %d", got, row.percent)
			}
			if got := debug.SetMemoryLimit(-1); got != row.limit {
				t.Errorf("limit %d, want %d", got, row.limit)
			}
		})
	}
}
