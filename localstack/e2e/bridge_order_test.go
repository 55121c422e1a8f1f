package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// event is one event of a stream as clients read it.
type event struct {
	name string
	data map[string]any
	text string // the data as it came
}

// eventsOf reads a stream; comments are left out.
func eventsOf(t *testing.T, row, body string) []event {
	t.Helper()
	var all []event
	for block := range strings.SplitSeq(body, "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			switch {
			case strings.HasPrefix(line, "event: "):
				e.name = line[7:]
			case strings.HasPrefix(line, "data: "):
				e.text += line[6:]
			}
		}
		switch {
		case e.text == "":
			continue
		case e.text != "[DONE]" && json.Unmarshal([]byte(e.text), &e.data) != nil:
			t.Errorf("%s: not JSON: %s", row, e.text)
		}
		all = append(all, e)
	}
	return all
}

// follow checks what clients rely on in a stream of their protocol, whole or
// broken off by an error event: ids, numbers, order, and that nothing comes after
// the end.
func follow(t *testing.T, row, endpoint, body string) []event {
	t.Helper()
	events := eventsOf(t, row, body)
	var problem string
	switch endpoint {
	case "chat":
		problem = chatOrder(events)
	case "responses":
		problem = responsesOrder(events)
	default:
		problem = messagesOrder(events)
	}
	if problem != "" {
		t.Errorf("%s: %s\n%s", row, problem, body)
	}
	return events
}

// chatOrder says what is wrong with a stream of chunks.
func chatOrder(events []event) string {
	id, roles, finished, done := "", 0, 0, false
	for i, e := range events {
		switch {
		case done:
			return "something after the end: " + e.text
		case e.text == "[DONE]", e.data["error"] != nil:
			done = true
			continue
		}
		if own, _ := e.data["id"].(string); own == "" || id != "" && own != id {
			return fmt.Sprintf("id %q after %q", own, id)
		} else {
			id = own
		}
		if e.data["object"] != "chat.completion.chunk" || e.data["created"] == nil || e.data["model"] == nil {
			return "not a chunk: " + e.text
		}
		choices, _ := e.data["choices"].([]any)
		if len(choices) == 0 {
			continue
		}
		choice, _ := choices[0].(map[string]any)
		if delta, _ := choice["delta"].(map[string]any); delta["role"] != nil {
			if roles++; i != 0 {
				return "the role is not first"
			}
		}
		if choice["finish_reason"] != nil {
			finished++
		}
	}
	whole := len(events) > 0 && events[len(events)-1].text == "[DONE]"
	switch {
	case !done || roles != 1:
		return fmt.Sprintf("end %v, %d roles", done, roles)
	case whole && finished != 1:
		return fmt.Sprintf("%d finish reasons", finished)
	}
	return ""
}

// responsesOrder says what is wrong with a stream of response events.
func responsesOrder(events []event) string {
	ids, finished := map[any]any{}, map[any]bool{}
	for i, e := range events {
		kind, _ := e.data["type"].(string)
		at := e.data["output_index"]
		item, _ := e.data["item"].(map[string]any)
		response, _ := e.data["response"].(map[string]any)
		switch {
		case kind != e.name || e.data["sequence_number"] != float64(i):
			return fmt.Sprintf("event %d: %s", i, e.text)
		case i == 0 && kind != "response.created", i == 1 && kind != "response.in_progress" && kind != "response.failed":
			return "it begins with " + kind
		case kind == "response.output_item.added":
			if ids[at] != nil || at != float64(len(ids)) {
				return "out of order: " + e.text
			}
			ids[at] = item["id"]
		case kind == "response.output_item.done":
			if finished[at] || item["id"] != ids[at] {
				return "finished twice or another one: " + e.text
			}
			finished[at] = true
		case e.data["item_id"] != nil && (e.data["item_id"] != ids[at] || finished[at]):
			return "out of place: " + e.text
		case kind == "response.completed" && len(finished) != len(ids):
			return "unfinished items"
		}
		terminal := kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed"
		if terminal != (i == len(events)-1) {
			return "the end is elsewhere: " + e.text
		}
		if response != nil && response["id"] == "" {
			return "no id: " + e.text
		}
	}
	if len(events) == 0 {
		return "nothing"
	}
	return ""
}

// messagesOrder says what is wrong with a stream of message events.
func messagesOrder(events []event) string {
	open, next, ended := -1.0, 0.0, false
	for i, e := range events {
		kind, _ := e.data["type"].(string)
		index, _ := e.data["index"].(float64)
		switch {
		case ended:
			return "something after the end: " + e.text
		case kind != e.name:
			return "another name: " + e.name
		case (kind == "message_start") != (i == 0):
			return "message_start is elsewhere"
		case kind == "content_block_start":
			if open >= 0 || index != next {
				return "out of order: " + e.text
			}
			open, next = index, next+1
		case kind == "content_block_delta" && index != open:
			return "out of place: " + e.text
		case kind == "content_block_stop":
			if index != open {
				return "out of place: " + e.text
			}
			open = -1
		case kind == "message_delta" && open >= 0:
			return "a block is open at the end"
		}
		ended = kind == "message_stop" || kind == "error"
	}
	if !ended {
		return "no end"
	}
	return ""
}
