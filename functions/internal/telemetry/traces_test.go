package telemetry

import (
	"strings"
	"testing"
)

// TestTraceOf: a span joins its client's trace, and nothing that is none.
func TestTraceOf(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for header, joins := range map[string]bool{
		"00-" + trace + "-" + span + "-01": true, "01-" + trace + "-" + span + "-00-more": true, "": false, "00-" + trace + "-" + span: false,
		"00-" + trace + "-" + span + "-01-more": false, "ff-" + trace + "-" + span + "-01": false, "00-" + strings.ToUpper(trace) + "-" + span + "-01": false,
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01": false, "00-" + trace + "-" + strings.Repeat("0", 16) + "-01": false,
		"00-" + trace[1:] + "\n-" + span + "-01": false, "01-" + trace + "-" + span + "-00-" + strings.Repeat("x", 256): false,
	} {
		e := &Exchange{TraceParent: header}
		got := export(e).ResourceSpans[0].ScopeSpans[0].Spans[0]
		if (got.TraceID == trace && got.Parent == span) != joins || !joins && got.Parent != "" || len(got.TraceID) != 32 {
			t.Errorf("%q: trace %s, parent %q", header, got.TraceID, got.Parent)
		}
	}
}
