package telemetry_test

import (
	"strings"
	"testing"

	"holdfast/functions/internal/telemetry"
)

func TestOrigin(t *testing.T) {
	var none []int
	for name, fails := range map[string]func(){
		"its own":       func() { panic("a prompt") },
		"the runtime's": func() { none[len(t.Name())]++ },
	} {
		func() {
			defer func() {
				_ = recover()
				if at := telemetry.Origin(); !strings.Contains(at, "telemetry_test.TestOrigin.func") || strings.Contains(at, "prompt") {
					t.Errorf("%s: %q", name, at)
				}
			}()
			fails()
		}()
	}
}
