package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/seal"
)

// The oldest responses go when there are too many or they are too large, with
// the items they made; the latest stays whatever its size.
func TestMemoryIsBounded(t *testing.T) {
	m := NewMemory(seal.New("alpha", false))
	keep := func(i, size int) {
		id := fmt.Sprint("resp_", i)
		m.keep(id, &stored{body: []byte(strings.Repeat("x", size)), output: []*item{{ID: "msg_" + id, raw: jsontext.Value(`{}`)}}})
	}
	for i := range maxResponses + 5 {
		keep(i, 10)
	}
	if len(m.responses) != maxResponses || len(m.items) != maxResponses {
		t.Errorf("%d responses and %d items are kept", len(m.responses), len(m.items))
	}
	if _, r := m.Get("resp_4"); r == nil {
		t.Error("the fifth is still there")
	}
	if _, r := m.Get("resp_5"); r != nil {
		t.Error("the sixth is gone")
	}
	if _, r := m.Delete("resp_6"); r != nil {
		t.Error(r.Message)
	}
	keep(20_000, maxBytes+1)
	if _, r := m.Get("resp_20000"); r != nil || len(m.responses) != 1 || len(m.items) != 1 || m.bytes < maxBytes {
		t.Errorf("%d responses of %d bytes are kept beside a huge one", len(m.responses), m.bytes)
	}
	keep(20_001, 10)
	if _, r := m.Get("resp_20001"); r != nil || len(m.responses) != 1 || m.bytes > 100 {
		t.Errorf("%d responses of %d bytes are kept after it", len(m.responses), m.bytes)
	}
}
