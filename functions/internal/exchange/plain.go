package exchange

import (
	"bytes"
	"slices"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/form"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// inspect checks the body and reads its facts, whichever form it has.
func (e *exchange) inspect() (p *wire.Problem) {
	if e.in.Bypass != nil {
		return e.inspectBypass()
	}
	body := e.in.Body
	if kind := e.http.Header.Get("Content-Type"); e.codec.task != "" && form.Is(kind) {
		parsed, err := form.Parse(kind, body)
		if err != nil {
			return notForm()
		}
		e.form, body = parsed, parsed.JSON()
	}
	if e.facts, p = wire.Inspect(e.in.Endpoint, body); p != nil {
		return p
	}
	if e.codec.follow == nil {
		e.facts.Stream = false // the endpoint has no streams
	}
	return nil
}

func notForm() *wire.Problem {
	return wire.Refuse(wire.InvalidRequest).Saying("The body is not a whole multipart/form-data of at most 64 parts with text fields of at most 64 KiB in UTF-8.")
}

// ourFields are the members of a body that are the gateway's own.
func ourFields() []string { return []string{"session_id", "litellm_session_id", "disable_fallbacks"} }

// plainRewrite makes a body ready for an endpoint that has no protocol of its
// own: the upstream's model, without the gateway's members. No identity hint: the
// field that it has in chat is unknown here.
func plainRewrite(f *wire.Facts, e wire.Edits) wire.Rewritten {
	e.HintField = ""
	p := f.Edit()
	e.Common(f, p)
	return wire.Rewritten{Body: p.Bytes()}
}

// readEmbeddings reads an answer of the embeddings endpoint.
func readEmbeddings(body []byte, counting wire.Counting) (wire.Answer, error) {
	v := jsonedit.Whole(body)
	if v.Kind() != '{' {
		return wire.Answer{}, wire.ErrAnswer
	}
	if fault := v.Get("error"); fault.Filled() {
		return wire.Answer{Status: wire.Failed, Err: wire.ErrorIn(0, fault)}, nil
	}
	if v.Get("data").Kind() != '[' {
		return wire.Answer{}, wire.ErrAnswer
	}
	a := wire.Answer{Model: v.Get("model").Head(wire.MaxName), Status: wire.Completed}
	a.Usage, a.HasUsage = wire.ReadUsage(v.Get("usage"), wire.UsageNames{Input: "prompt_tokens", InputDetails: "prompt_tokens_details"}, counting)
	return a, nil
}

// readTask reads the beginning of a job: an object with an id, whatever its state. A
// refusal inside of a 200 has none.
func readTask(body []byte, _ wire.Counting) (wire.Answer, error) {
	v := jsonedit.Whole(body)
	id := v.Get("id")
	if v.Kind() != '{' || id.Len() == 0 || id.Len() > wire.MaxName {
		return wire.Answer{}, wire.ErrAnswer
	}
	return wire.Answer{ID: id.Text(), Model: v.Get("model").Head(wire.MaxName), Status: wire.Completed}, nil
}

// unaddressed takes the addresses out of what a provider says of a task: some
// give the place of the result, with what opens it. The content route leads
// there.
type unaddressed struct{}

// Event leaves events alone: tasks have none.
func (unaddressed) Event(dst []byte, e sse.Event) []byte { return append(dst, e.Raw...) }

// Body puts null in the place of every string that is a URL, outside of what the
// client wrote itself.
func (unaddressed) Body(body []byte) ([]byte, error) {
	if !bytes.Contains(body, []byte("http")) && !bytes.Contains(body, []byte(`\u`)) {
		return body, nil
	}
	doc, err := jsonedit.Parse(body)
	if err != nil {
		return nil, err
	}
	p := doc.Edit()
	doc.Names(func(name []byte) bool {
		if !slices.Contains([]string{"prompt", "metadata"}, string(name)) {
			blank(p, doc.Value(string(name)))
		}
		return true
	})
	return p.Bytes(), nil
}

// blank looks for URLs in a value. The document's depth is bounded.
func blank(p *jsonedit.Patch, v jsonedit.Value) {
	if v.Kind() == '"' {
		if head := strings.ToLower(v.Head(64)); strings.HasPrefix(head, "http://") || strings.HasPrefix(head, "https://") {
			p.Replace(v, []byte("null"))
		}
		return
	}
	for each := v.Each(); each.Next(); {
		blank(p, each.Value())
	}
}
