package responses

import (
	"bytes"
	"slices"

	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// maxRecord bounds what is kept of one answer's output, in bytes.
const maxRecord = 16 << 20

// Record keeps what an answer leaves behind: its output items as the upstream
// sent them, those of the terminal event or, where that has none, the finished
// items one by one; and the names of ciphertext in them. A Record belongs to one
// answer.
type Record struct {
	Content bool // keep the items; else only what Sealed says
	Whole   bool // keep the whole response in their place

	items  []byte // an array without its end
	output []byte // of the terminal event
	over   bool   // more than is kept
	sealed []string
	ids    []string
}

// maxIDs bounds how many items of one answer can be referred to.
const maxIDs = 64

// maxSealed bounds how many pieces of ciphertext of one answer get an owner.
const maxSealed = 16

// Event takes in one event.
func (r *Record) Event(name, data []byte) {
	switch kindOf(name, data) {
	case "response.output_item.done":
		r.add(jsonedit.Read(data).Get("item"))
	case "response.completed", "response.incomplete":
		r.Body(jsonedit.Read(data).Get("response").Bytes())
	}
}

// kindOf is the kind of an event that may matter, "" for any delta.
func kindOf(name, data []byte) string {
	if kind, plain := bytes.CutPrefix(data, []byte(`{"type":"response.`)); plain {
		if end := bytes.IndexByte(kind, '"'); end >= 0 && bytes.HasSuffix(kind[:end], []byte(".delta")) {
			return ""
		}
	}
	if kind := jsonedit.Read(data).Get("type"); kind.Len() > 0 {
		return kind.Head(64)
	}
	return string(name)
}

// Events takes in the events of some bytes of a stream, of which only the last
// one of an answer matters: those of a response that the gateway makes itself.
func (r *Record) Events(raw []byte) {
	if !bytes.Contains(raw, []byte(`"response.completed"`)) && !bytes.Contains(raw, []byte(`"response.incomplete"`)) {
		return
	}
	events := sse.NewReader(bytes.NewReader(raw), 0)
	for {
		e, err := events.Next()
		if err != nil {
			return
		}
		r.Event(e.Name, e.Data)
	}
}

// Body takes in a whole response.
func (r *Record) Body(body []byte) {
	output := jsonedit.Read(body).Get("output")
	if output.Kind() != '[' || !output.Filled() && !r.Whole {
		return
	}
	if mayBeSealed(output.Bytes()) {
		for each := output.Each(); each.Next(); {
			r.seal(each.Value())
		}
	}
	for each := output.Each(); each.Next(); {
		r.name(each.Value())
	}
	if !r.Content {
		return
	}
	text := output.Bytes()
	if r.Whole {
		text = body
	}
	if r.over = len(text) > maxRecord || !jsonedit.Valid(text); !r.over {
		r.output = bytes.Clone(text)
	}
	r.items = nil
}

func (r *Record) add(item jsonedit.Value) {
	if item.Kind() != '{' {
		return
	}
	r.seal(item)
	r.name(item)
	switch {
	case !r.Content || r.Whole || r.over:
		return
	case len(r.items)+len(item.Bytes()) > maxRecord || !jsonedit.Valid(item.Bytes()):
		r.items, r.over = nil, true
		return
	}
	r.items = append(append(r.items, ','), item.Bytes()...)
}

func (r *Record) seal(item jsonedit.Value) {
	name := sealedIn(item)
	if name != "" && len(r.sealed) < maxSealed && !slices.Contains(r.sealed, name) {
		r.sealed = append(r.sealed, name)
	}
}

// name notes an item's own id, where nothing else of the answer is kept.
func (r *Record) name(item jsonedit.Value) {
	if r.Content || len(r.ids) >= maxIDs {
		return
	}
	if id := idIn(item.Get("id")); id != "" && !slices.Contains(r.ids, id) {
		r.ids = append(r.ids, id)
	}
}

// IDs are the provider's own ids of the items, where no content is kept. At most
// 64.
func (r *Record) IDs() []string { return r.ids }

// Sealed names the ciphertext among the items that only its account can use, as
// the function of that name does.
func (r *Record) Sealed() []string { return r.sealed }

// Kept returns the items as a JSON array, or the whole response, and whether
// there is one and all of it is there.
func (r *Record) Kept() ([]byte, bool) {
	switch {
	case r.over || !r.Content:
		return nil, false
	case r.output != nil:
		return r.output, true
	case r.Whole:
		return nil, false
	case len(r.items) == 0:
		return []byte(`[]`), true
	}
	r.items[0] = '['
	return append(r.items, ']'), true
}
