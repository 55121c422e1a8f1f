package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// agentBody is a Messages request as a coding agent sends it late in its work:
// 70 tools, 300 turns, about 1 MB, code with its quotes and line breaks.
func agentBody(t testing.TB) []byte {
	t.Helper()
	type object = map[string]any
	code := strings.Repeat("func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {\n\treturn fmt.Errorf(\"bad request %q\", r.URL.Path)\n}\n", 13)
	var tools, messages []any
	for i := range 70 {
		properties := object{}
		for j := range 8 {
			properties[fmt.Sprintf("argument_%d", j)] = object{
				"type": "string", "description": "What the argument is for, in a sentence or two of prose."}
		}
		tools = append(tools, object{"name": fmt.Sprintf("tool_%d", i),
			"description":  strings.Repeat("Does something useful with the files of the project. ", 25),
			"input_schema": object{"type": "object", "properties": properties, "required": []string{"argument_0"}}})
	}
	for i := range 150 {
		id := fmt.Sprintf("toolu_%08d", i)
		messages = append(messages,
			object{"role": "assistant", "content": []any{
				object{"type": "thinking", "thinking": code[:900], "signature": strings.Repeat("Ab3+", 100)},
				object{"type": "tool_use", "id": id, "name": "tool_1", "input": object{"argument_0": code[:700]}}}},
			object{"role": "user", "content": []any{
				object{"type": "tool_result", "tool_use_id": id, "content": code + code}}})
	}
	body, err := json.Marshal(object{"model": "claude-opus-5-5", "max_tokens": 64000, "stream": true, "tools": tools,
		"system": strings.Repeat("You are a coding agent. ", 200), "messages": messages,
		"metadata": object{"user_id": "u"}}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return body
}
