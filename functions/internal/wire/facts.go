package wire

import (
	"errors"
	"strconv"

	"holdfast/functions/internal/wire/jsonedit"
)

// Bounds on what is read out of a body.
const (
	MaxModelBytes      = 256
	MaxResponseIDBytes = 256
)

// Facts are what a client's body says about its exchange. The body stays
// undecoded behind them and must not change. They belong to one goroutine: what
// a request needs is found on first asking.
type Facts struct {
	Endpoint           string
	Model              string // as the client wrote it; "" only where the endpoint needs none
	Stream             bool
	PreviousResponseID string // responses only
	Store              *bool  // responses only; nil: the client did not say
	Background         bool   // responses only
	DisableFallbacks   bool
	MaxTokens          int64 // 0: not said, or not a positive number

	doc   *jsonedit.Document
	found media
}

// Inspect checks a body strictly and reads its facts in one pass over the
// bytes. The Facts keep body. A refusal says what is wrong and where, and holds
// none of the content.
func Inspect(endpoint string, body []byte) (*Facts, *Problem) {
	doc, err := jsonedit.Parse(body)
	if err != nil {
		return nil, malformed(err)
	}
	f := &Facts{Endpoint: endpoint, doc: doc}
	for _, check := range [...]func() *Problem{f.refuseRouting, f.readModel, f.readSwitches, f.readContinuation} {
		if p := check(); p != nil {
			return nil, p
		}
	}
	f.readMaxTokens()
	return f, nil
}

// malformed says where a body stops being acceptable.
func malformed(err error) *Problem {
	fault := (*jsonedit.Error)(nil)
	if !errors.As(err, &fault) {
		return Refuse(InvalidJSON)
	}
	return Refuse(InvalidJSON).Saying("The request body " + fault.Reason.String() + " (at byte " +
		strconv.FormatInt(fault.Offset, 10) + "). Send one JSON object in UTF-8, each key once.")
}

// refuseRouting refuses the members by which a client would choose the host,
// the credential or the headers of the upstream call.
func (f *Facts) refuseRouting() *Problem {
	for _, name := range [...]string{"api_base", "base_url", "api_key", "extra_headers"} {
		if f.doc.Value(name).Exists() {
			return Refuse(InvalidRequest).About(name).Saying("The body must not carry " + name +
				": upstream addresses, credentials and headers belong to the gateway's configuration. Remove it.")
		}
	}
	return nil
}

// readModel reads the model, which may be missing only where the endpoint
// does not route by it.
func (f *Facts) readModel() *Problem {
	v := f.doc.Value("model")
	if !v.Given() && !needsModel(f.Endpoint) {
		return nil
	}
	if n := v.Len(); n > 0 && n <= MaxModelBytes {
		f.Model = v.Text()
	}
	if f.Model == "" || hasControl(f.Model) {
		return Refuse(InvalidRequest).About("model").Saying("model must be a string of 1 to " + strconv.Itoa(MaxModelBytes) +
			" bytes that names a model or a group. GET /v1/models lists those that this key may use.")
	}
	return nil
}

func needsModel(endpoint string) bool {
	switch endpoint {
	case EndpointChat, EndpointResponses, EndpointMessages, EndpointCountTokens, EndpointCompact, EndpointEmbeddings, EndpointVideos:
		return true
	}
	return false
}

// readSwitches reads the booleans that any endpoint may have.
func (f *Facts) readSwitches() (p *Problem) {
	if f.Stream, _, p = f.flag("stream"); p != nil {
		return p
	}
	f.DisableFallbacks, _, p = f.flag("disable_fallbacks")
	return p
}

// readContinuation reads what binds a Responses request to its account. store
// must be a boolean where it is there: what is kept of a conversation is never
// guessed.
func (f *Facts) readContinuation() (p *Problem) {
	if f.Endpoint != EndpointResponses && f.Endpoint != EndpointCompact {
		return nil
	}
	if f.doc.Value("store").Exists() {
		store, ok := f.doc.Value("store").Bool()
		if !ok {
			return notBoolean("store")
		}
		f.Store = &store
	}
	if f.Background, _, p = f.flag("background"); p != nil {
		return p
	}
	v := f.doc.Value("previous_response_id")
	if !v.Given() {
		return nil
	}
	if n := v.Len(); n > 0 && n <= MaxResponseIDBytes {
		f.PreviousResponseID = v.Text()
	}
	if f.PreviousResponseID == "" || hasControl(f.PreviousResponseID) {
		return Refuse(InvalidRequest).About("previous_response_id").Saying(
			"previous_response_id must be the id of an earlier response. Leave it out to start a new conversation.")
	}
	return nil
}

// flag reads an optional boolean; null counts as absent.
func (f *Facts) flag(name string) (value, given bool, _ *Problem) {
	v := f.doc.Value(name)
	if !v.Given() {
		return false, false, nil
	}
	value, given = v.Bool()
	if !given {
		return false, false, notBoolean(name)
	}
	return value, true, nil
}

func notBoolean(name string) *Problem {
	return Refuse(InvalidRequest).About(name).Saying(name + " must be true or false. Send a JSON boolean or leave it out.")
}

// readMaxTokens reads the bound on output by its name in the endpoint. What is
// no positive number is left to the provider to refuse.
func (f *Facts) readMaxTokens() {
	for _, name := range [...]string{"max_completion_tokens", "max_output_tokens", "max_tokens"} {
		if n, ok := f.doc.Value(name).Int(); ok && n > 0 {
			f.MaxTokens = n
			return
		}
	}
}

// Member returns the raw JSON of a top-level member, nil where it is absent. It
// is part of the body and not to be changed.
func (f *Facts) Member(name string) []byte { return f.doc.Value(name).Bytes() }

// Value returns a top-level member for reading without decoding.
func (f *Facts) Value(name string) jsonedit.Value { return f.doc.Value(name) }

// Body returns the client's bytes, not to be changed.
func (f *Facts) Body() []byte { return f.doc.Raw() }

// Edit begins a patch of the body.
func (f *Facts) Edit() *jsonedit.Patch { return f.doc.Edit() }

// hasControl reports whether text has a control character.
func hasControl(text string) bool {
	for _, r := range text {
		if r < 0x20 || r >= 0x7f && r <= 0x9f {
			return true
		}
	}
	return false
}
