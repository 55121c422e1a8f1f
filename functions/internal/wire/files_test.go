package wire_test

import (
	"fmt"
	"testing"

	"holdfast/functions/internal/wire"
)

// TestFileIDs: files and containers are found where the protocols have them, however
// their names are written.
func TestFileIDs(t *testing.T) {
	for _, row := range []struct{ endpoint, body, want string }{
		{wire.EndpointResponses, `{"model":"m"}`, "[] [] false"},
		{wire.EndpointResponses, `{"model":"m","input":[{"content":[{"file_id":"f_1"},{"file_id":"f_1"},{"file_id":"f_2"}]}],"tools":[{"type":"code_interpreter","container":"cn_1"},{"container":{"type":"auto"}},"x"]}`, "[f_1 f_2] [cn_1] false"},
		{wire.EndpointResponses, `{"model":"m","input":[{"output":[{"fil\u0065_id":"f_3"}]}]}`, "[f_3] [] false"},
		{wire.EndpointResponses, `{"model":"m","input":"x","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["f_1","f_2"]}}]}`, "[f_1 f_2] [] false"},
		{wire.EndpointResponses, `{"model":"m","input":[{"content":[{"file_id":"a"},{"file_id":"b"},{"file_id":"c"}]}]}`, "[a b] [] true"},
		{wire.EndpointChat, `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f_1"}}]}]}`, "[f_1] [] false"},
		{wire.EndpointChat, `{"model":"m","messages":[{"role":"user","content":"the file_id is f_1"}]}`, "[] [] false"},
		{wire.EndpointMessages, `{"model":"m","container":"cn_1","messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f_1"}},{"type":"container_upload","file_id":"f_2"}]}]}`, "[f_1 f_2] [cn_1] false"},
		{wire.EndpointMessages, `{"model":"m","container":{"id":"cn_1","skills":[]},"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"file","file_id":"f_1"}}]}]}]}`, "[f_1] [cn_1] false"},
		{wire.EndpointMessages, `{"model":"m","container":7,"messages":[{"role":"user","content":[{"file_id":7},{"file_id":""}]}]}`, "[] [] false"},
	} {
		f, p := wire.Inspect(row.endpoint, []byte(row.body))
		if p != nil {
			t.Fatal(p)
		}
		files, containers, more := f.FileIDs(2)
		if got := fmt.Sprint(files, " ", containers, " ", more); got != row.want {
			t.Errorf("%s: %s, want %s", row.body, got, row.want)
		}
	}
}
