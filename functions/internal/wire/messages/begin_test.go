package messages_test

import (
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/messages"
)

// TestCallBegins shows a streamed tool call whose block begins with an empty
// input: its arguments are what the deltas bring, and nothing else.
func TestCallBegins(t *testing.T) {
	d := messages.NewDeltas(wire.ByProtocol)
	var out []wire.Delta
	for _, data := range []string{start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
	} {
		out = d.Event(nil, []byte(data), out)
	}
	arguments := ""
	for _, delta := range out {
		arguments += delta.Part.Arguments
		if delta.Kind == wire.PartDelta {
			arguments += delta.Text
		}
	}
	if arguments != `{"command":"ls"}` {
		t.Errorf("arguments %q", arguments)
	}
}
