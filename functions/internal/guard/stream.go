package guard

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// Output applies the rules for answers to a JSON answer of an endpoint. It
// returns the body as the rules leave it.
func (r *Rules) Output(endpoint string, body []byte) ([]byte, Found) {
	doc, err := jsonedit.Parse(body)
	if err != nil {
		var f Found
		f.opaque(r.output, body)
		return body, f
	}
	w := walk{rules: r.output, answer: true, edit: doc.Edit()}
	for _, name := range shown(endpoint) {
		w.value(name, doc.Value(name), jsonedit.Value{})
	}
	return w.result(body)
}

// shown are the members of a JSON answer that hold what the model has made, and
// not what repeats the request.
func shown(endpoint string) []string {
	switch endpoint {
	case wire.EndpointChat:
		return []string{"choices"}
	case wire.EndpointMessages:
		return []string{"content"}
	}
	return []string{"output", "output_text"}
}

// Stream applies the rules for answers to the events that a client gets, in its
// own protocol. Text that is held back comes with the part's next event, or in an
// event of its own before the one that ends the part.
type Stream struct {
	rules    []rule
	endpoint string
	parts    []*open
	total    int
	found    Found
	shown    bool
	tails    map[string][]tail // by message, of the parts that have ended

	number  int64 // of the last event, where events are numbered
	shifted int64 // events that were added, which move the numbers of later ones
}

// open is a part whose end has not come.
type open struct {
	*part
	piece             // its first one; the value is gone with its event
	name, data []byte // of its last event, the form of one of its own
}

// maxParts bounds the parts that are open at once; what is more ends the oldest.
const maxParts = 512

// Stream returns the guard of one streamed answer.
func (r *Rules) Stream(endpoint string) *Stream {
	return &Stream{rules: r.output, endpoint: endpoint}
}

// Shown reports whether any text has left that came in pieces.
func (s *Stream) Shown() bool { return s.shown }

// Found is what the rules have found so far.
func (s *Stream) Found() Found { return s.found }

// Event appends what the client gets for an event: nothing from there on where a
// rule has refused the answer.
func (s *Stream) Event(dst []byte, e sse.Event) []byte {
	if s.found.Blocked != "" {
		return dst
	}
	from := len(dst)
	dst = s.event(dst, e)
	if s.found.Blocked != "" {
		return dst[:from]
	}
	return dst
}

// End appends what is still held, after the last event.
func (s *Stream) End(dst []byte) []byte {
	from := len(dst)
	dst = s.close(dst, func(*open) bool { return true }, s.number+1)
	if s.found.Blocked != "" {
		return dst[:from]
	}
	return dst
}

func (s *Stream) event(dst []byte, e sse.Event) []byte {
	doc, err := jsonedit.Parse(e.Data)
	if err != nil {
		if len(e.Data) > 0 && !bytes.Equal(e.Data, []byte("[DONE]")) {
			s.found.opaque(s.rules, e.Data)
		} else if len(e.Data) > 0 {
			dst = s.End(dst)
		}
		return append(dst, e.Raw...)
	}
	seen := read(s.endpoint, doc)
	n, numbered := doc.Value("sequence_number").Int()
	if numbered {
		s.number = n
	}
	dst = s.close(dst, func(o *open) bool { return seen.ends(o) && !seen.has(o) }, n) // before the event that ends them
	for _, p := range seen.pieces {
		dst = s.begin(dst, p, seen, n)
	}
	edit := doc.Edit()
	for _, p := range seen.pieces {
		s.piece(edit, e, p, seen.ends)
	}
	w := walk{rules: s.rules, answer: true, edit: edit, found: s.found}
	for _, v := range seen.whole {
		w.value(v.name, v.value, v.object)
	}
	s.found = w.found
	s.found.sizes(s.rules, s.total)
	if numbered && s.shifted > 0 {
		edit.Set("sequence_number", strconv.AppendInt(nil, n+s.shifted, 10))
	}
	if !edit.Changed() {
		return append(dst, e.Raw...)
	}
	return sse.AppendEvent(dst, string(e.Name), edit.Bytes())
}

// begin opens a part with its first piece. The others of its group have come to
// their end: their text stands before it.
func (s *Stream) begin(dst []byte, p piece, seen event, number int64) []byte {
	if s.find(p.key) != nil {
		return dst
	}
	dst = s.close(dst, func(o *open) bool { return !seen.has(o) && (o.group == p.group || len(s.parts) >= maxParts) }, number)
	s.parts = append(s.parts, &open{part: newPart(s.rules, p.message != "", s.tails[p.message]), piece: p})
	return dst
}

func (s *Stream) find(key string) *open {
	for _, o := range s.parts {
		if o.key == key {
			return o
		}
	}
	return nil
}

// piece shows of a piece, and of what was held before it, what may be shown.
func (s *Stream) piece(edit *jsonedit.Patch, e sse.Event, p piece, ends func(*open) bool) {
	o := s.find(p.key) // begin has opened it
	text := p.value.Text()
	s.total += len(text)
	shown := o.push([]byte(text), ends(o), &s.found)
	s.shown = s.shown || len(shown) > 0
	if string(shown) != text {
		edit.Replace(p.value, jsonedit.Quote(string(shown)))
	}
	o.name, o.data = append(o.name[:0], e.Name...), append(o.data[:0], e.Data...)
	if ends(o) {
		s.drop(o)
	}
}

// drop ends a part. What it ends with is looked at together with the next one of
// its message.
func (s *Stream) drop(gone *open) {
	if gone.goesOn {
		if s.tails == nil {
			s.tails = map[string][]tail{}
		}
		s.tails[gone.message] = gone.tails()
	}
	s.parts = slices.DeleteFunc(s.parts, func(o *open) bool { return o == gone })
}

// close ends parts and shows what they hold, each in an event of its own that is
// numbered as the one that follows was.
func (s *Stream) close(dst []byte, which func(*open) bool, number int64) []byte {
	for _, o := range slices.Clone(s.parts) {
		if !which(o) {
			continue
		}
		if text := o.push(nil, true, &s.found); len(text) > 0 {
			dst = s.own(dst, o, text, number)
		}
		s.drop(o)
	}
	return dst
}

// own appends an event for a part's text, in the form of the part's last one.
func (s *Stream) own(dst []byte, o *open, text []byte, number int64) []byte {
	s.shown = true
	doc, err := jsonedit.Parse(o.data)
	if err != nil {
		return dst
	}
	edit := doc.Edit()
	edit.Set(o.member, slices.Concat([]byte(o.before), jsonedit.Quote(string(text)), []byte(o.after)))
	edit.Delete("usage")
	if doc.Value("logprobs").Exists() {
		edit.Set("logprobs", []byte("[]"))
	}
	if doc.Value("sequence_number").Exists() {
		edit.Set("sequence_number", strconv.AppendInt(nil, number+s.shifted, 10))
		s.shifted++
	}
	return sse.AppendEvent(dst, string(o.name), edit.Bytes())
}

// under is a key of nested names.
func under(names ...string) string { return strings.Join(names, "/") }
