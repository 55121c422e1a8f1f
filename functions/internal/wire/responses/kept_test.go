package responses_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/responses"
)

func TestInputItems(t *testing.T) {
	for input, want := range map[string]string{
		`"Say \"hi\""`: `[{"type":"message","role":"user","content":"Say \"hi\""}]`,
		`[ {"a":1} ]`:  `[ {"a":1} ]`,
		`null`:         `[]`, `7`: `[]`, ``: `[]`,
	} {
		if got := responses.InputItems(jsonedit.Read([]byte(input))); string(got) != want {
			t.Errorf("%s: %s", input, got)
		}
	}
}

func TestJoin(t *testing.T) {
	for _, row := range []struct {
		parts []string
		want  string
	}{
		{nil, `[]`}, {[]string{`[]`, ` [ ] `}, `[]`}, {[]string{`[1]`, `[]`, "\n[2,3 ]\n"}, `[1,2,3]`}, {[]string{`no array`, `[1]`, ``}, `[1]`},
	} {
		var parts [][]byte
		for _, p := range row.parts {
			parts = append(parts, []byte(p))
		}
		if got := responses.Join(parts...); string(got) != row.want {
			t.Errorf("%q: %s", row.parts, got)
		}
	}
}

func TestOutputItems(t *testing.T) {
	for kept, want := range map[string]string{`[1]`: `[1]`, `{"id":"r","output":[1]}`: `[1]`, `{"output":7}`: `[]`, ``: `[]`} {
		if got := responses.OutputItems([]byte(kept)); string(got) != want {
			t.Errorf("%s: %s", kept, got)
		}
	}
}

func TestReferences(t *testing.T) {
	const input = `[{"type":"item_reference","id":"msg_1"},{"id":"fc_1"},{"id":"x","role":"user"},{"type":"message","id":"y"},{"type":"item_reference","id":"msg_1"},{"type":"item_reference","id":"rs_hf_1"},{"type":null,"id":"msg_2"}]`
	ids, more := responses.ReferenceIDs(jsonedit.Read([]byte(input)), 10)
	if fmt.Sprint(ids) != "[msg_1 fc_1 msg_2]" || more {
		t.Errorf("%q %v", ids, more)
	}
	if ids, more = responses.ReferenceIDs(jsonedit.Read([]byte(input)), 2); len(ids) != 2 || !more {
		t.Errorf("beyond the limit: %q %v", ids, more)
	}
	if ids, _ = responses.ReferenceIDs(jsonedit.Read([]byte(`"\"id\""`)), 2); ids != nil {
		t.Errorf("of a string: %q", ids)
	}
	got := responses.Expand(jsonedit.Read([]byte(input)), func(id string) []byte {
		if id != "msg_1" {
			return nil
		}
		return []byte(`{"here":1}`)
	})
	if want := strings.ReplaceAll(input, `{"type":"item_reference","id":"msg_1"}`, `{"here":1}`); string(got) != want {
		t.Error(cmp.Diff(want, string(got)))
	}
}

func TestItemIDs(t *testing.T) {
	const output = `[{"id":"rs_1","type":"reasoning"},{"id":"msg_1","type":"message"},{"type":"message"},{"id":"fc_1"}]`
	ids := responses.ItemIDs([]byte(output), 10)
	if len(ids) != 3 || !strings.HasPrefix(ids[0], "rs_hf_") || ids[1] != "msg_1" || ids[2] != "fc_1" {
		t.Fatalf("%q", ids)
	}
	for i, want := range map[int]string{0: `{"id":"rs_1","type":"reasoning"}`, 1: `{"id":"msg_1","type":"message"}`} {
		if got := responses.FindItem([]byte(output), ids[i]); string(got) != want {
			t.Errorf("%s: %s", ids[i], got)
		}
	}
	if got := responses.FindItem([]byte(output), "msg_2"); got != nil {
		t.Errorf("nobody's: %s", got)
	}
	if ids = responses.ItemIDs([]byte(output), 1); len(ids) != 1 {
		t.Errorf("beyond the limit: %q", ids)
	}
}

func TestSealed(t *testing.T) {
	one, _ := responses.Sealed([]byte(`[{"type":"compaction","encrypted_content":"gAAA"},{"type":"reasoning","encrypted_content":"gBBB"},{"type":"message"}]`), 4)
	same, _ := responses.Sealed([]byte(`[{"type":"compaction","encrypted_content":"g\u0041AA","id":"cmp_1"}]`), 4)
	if len(one) != 1 || fmt.Sprint(one) != fmt.Sprint(same) || strings.Contains(one[0], "gAAA") {
		t.Errorf("%q and %q", one, same)
	}
	if names, more := responses.Sealed([]byte(`[{"encrypted_content":"a"},{"encrypted_content":"b"}]`), 1); len(names) != 1 || !more {
		t.Errorf("beyond the limit: %q %v", names, more)
	}
}

func TestConversation(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m"}`: "", `{"model":"m","conversation":"c_1"}`: "c_1", `{"model":"m","conversation":{"id":"c_2"}}`: "c_2",
		`{"model":"m","conversation":7}`: "", `{"model":"m","conversation":"` + strings.Repeat("c", 300) + `"}`: "",
	} {
		f, p := wire.Inspect(wire.EndpointResponses, []byte(body))
		if p != nil {
			t.Fatal(p)
		}
		if got := responses.ConversationID(f); got != want {
			t.Errorf("%.200s: %s, want %s", body, got, want)
		}
	}
}

func TestList(t *testing.T) {
	items := []byte(`[{"id":"a"},{"type":"message"},{"id":"c"},{"id":"d"}]`)
	names := func(page []byte) string {
		if !jsonedit.Valid(page) {
			t.Fatalf("no JSON: %s", page)
		}
		v := jsonedit.Read(page)
		var list []string
		for each := v.Get("data").Each(); each.Next(); {
			id := each.Value().Get("id").Text()
			if strings.HasPrefix(id, "item_hf_") {
				id = "b"
			}
			list = append(list, id)
		}
		more, _ := v.Get("has_more").Bool()
		return fmt.Sprint(list, " ", more)
	}
	second := jsonedit.Read(responses.List("r", items, responses.Page{Ascending: true, Limit: 2})).Get("last_id").Text()
	for want, page := range map[string]responses.Page{
		"[a b c d] false": {Ascending: true, Limit: 4}, "[d c b] true": {Limit: 3}, "[c d] false": {Ascending: true, After: second, Limit: 9},
		"[a] false": {After: second, Limit: 9}, "[] false": {After: "nobody", Limit: 9},
	} {
		if got := names(responses.List("r", items, page)); got != want {
			t.Errorf("%+v: %s, want %s", page, got, want)
		}
	}
	if empty := responses.List("r", []byte(`[]`), responses.Page{Limit: 1}); string(empty) != `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}` {
		t.Errorf("%s", empty)
	}
}

// TestRecord shows what is kept of answers: the snapshot's items, or where it
// has none the finished ones, or a whole response; never a part of one.
func TestRecord(t *testing.T) {
	const (
		first  = `{"type":"response.output_item.done","item":{"id":"a"}}`
		second = `{"item":{"id":"b","type":"compaction","encrypted_content":"g"},"type":"response.output_item.done"}`
		whole  = `{"type":"response.completed","response":{"id":"r","output":[{"id":"z"}]}}`
		bare   = `{"type":"response.completed","response":{"id":"r","output":[]}}`
		none   = `{"type":"response.incomplete","response":{"id":"r"}}`
	)
	huge := `{"type":"response.output_item.done","item":{"x":"` + strings.Repeat("x", 17<<20) + `"}}`
	content, response := responses.Record{Content: true}, responses.Record{Content: true, Whole: true}
	for name, row := range map[string]struct {
		record responses.Record
		events []string
		want   string
		sealed int
	}{
		"snapshot":    {content, []string{first, delta, whole}, `[{"id":"z"}]`, 0},
		"by items":    {content, []string{first, delta, second, bare}, `[{"id":"a"},{"id":"b","type":"compaction","encrypted_content":"g"}]`, 1},
		"no output":   {content, []string{first, none}, `[{"id":"a"}]`, 0},
		"nothing":     {content, []string{bare}, `[]`, 0},
		"whole":       {response, []string{first, whole}, `{"id":"r","output":[{"id":"z"}]}`, 0},
		"whole empty": {response, []string{bare}, `{"id":"r","output":[]}`, 0},
		"cut":         {response, []string{first}, ``, 0},
		"too much":    {content, []string{first, huge, first, bare}, ``, 0},
		"broken item": {content, []string{`{"type":"response.output_item.done","item":{"id":`, bare}, ``, 0},
		"no content":  {responses.Record{}, []string{first, second, whole}, ``, 1},
	} {
		for _, data := range row.events {
			row.record.Event(nil, []byte(data))
		}
		got, all := row.record.Kept()
		if string(got) != row.want || all != (row.want != "") || len(row.record.Sealed()) != row.sealed {
			t.Errorf("%s: %.200s %v %q", name, got, all, row.record.Sealed())
		}
	}
	var stream responses.Record
	stream.Content, stream.Whole = true, true
	stream.Events([]byte("event: x\ndata: " + first + "\n\nevent: response.completed\ndata: " + whole + "\n\n"))
	if got, _ := stream.Kept(); !bytes.Contains(got, []byte(`"id":"z"`)) {
		t.Errorf("of a stream: %s", got)
	}
}
