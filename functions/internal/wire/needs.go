package wire

import "holdfast/functions/internal/wire/jsonedit"

// What media are counted as, in tokens; text is counted by its bytes.
const (
	bytesPerToken    = 4
	tokensPerImage   = 1600
	bytesPerDocToken = 40 // of a document's base64
	maxNesting       = 4  // levels of content inside content: tool results
)

// media is what a walk over the conversation finds.
type media struct {
	walked            bool
	images, documents bool
	bytes             int   // of media blocks, which are not text
	tokens            int64 // of those blocks
}

// HasTools reports whether the request offers tools.
func (f *Facts) HasTools() bool {
	return f.doc.Value("tools").Filled() || f.doc.Value("functions").Filled()
}

// HasImages reports whether the conversation holds an image.
func (f *Facts) HasImages() bool { return f.media().images }

// HasDocuments reports whether the conversation holds a document or a file.
func (f *Facts) HasDocuments() bool { return f.media().documents }

// JSONSchema reports whether the answer must fit a JSON schema.
func (f *Facts) JSONSchema() bool {
	for _, format := range [...]jsonedit.Value{
		f.doc.Value("response_format"),             // chat
		f.doc.Value("text").Get("format"),          // responses
		f.doc.Value("output_config").Get("format"), // messages
		f.doc.Value("output_format"),               // messages, before
	} {
		if format.Get("type").Is("json_schema") {
			return true
		}
	}
	return false
}

// EstimatedTokens is a guess at the tokens of the prompt: a quarter of its
// text's bytes, media at a flat rate.
func (f *Facts) EstimatedTokens() int64 {
	size := 0
	for _, name := range [...]string{"messages", "input", "system", "instructions", "tools", "prompt"} {
		size += len(f.Member(name))
	}
	m := f.media()
	return int64(size-m.bytes)/bytesPerToken + m.tokens
}

// media walks the conversation once, on first need, reading its bytes once.
func (f *Facts) media() *media {
	if !f.found.walked {
		f.found.walked = true
		for _, name := range [...]string{"messages", "input"} {
			each := f.doc.Value(name).Each()
			f.found.list(&each, maxNesting)
		}
	}
	return &f.found
}

// list looks through messages, items or blocks, to the end.
func (m *media) list(each *jsonedit.Cursor, depth int) {
	for each.Next() {
		if each.Kind() == '{' {
			m.entry(each, depth)
		}
	}
}

// entry looks at one message, item or block, and at its content in turn.
func (m *media) entry(at *jsonedit.Cursor, depth int) {
	var kind jsonedit.Value
	each := at.Enter()
	for each.Next() {
		switch {
		case each.Is("type"):
			kind = each.Value()
		case depth > 0 && (each.Is("content") || each.Is("output")):
			m.content(&each, depth-1)
		}
	}
	at.Leave(&each)
	switch {
	case kind.Is("image_url"), kind.Is("input_image"), kind.Is("image"), kind.Is("computer_screenshot"):
		m.image(at.Value())
	case kind.Is("document"), kind.Is("file"), kind.Is("input_file"):
		m.document(at.Value())
	}
}

// content looks at a member that holds blocks, or is one.
func (m *media) content(at *jsonedit.Cursor, depth int) {
	switch at.Kind() {
	case '[':
		each := at.Enter()
		m.list(&each, depth)
		at.Leave(&each)
	case '{':
		m.entry(at, depth)
	}
}

func (m *media) image(v jsonedit.Value) {
	m.images = true
	m.bytes += len(v.Bytes())
	m.tokens += tokensPerImage
}

// document counts a file by its size, unless its text is there in the open.
func (m *media) document(v jsonedit.Value) {
	m.documents = true
	if kind := v.Get("source", "type"); kind.Is("text") || kind.Is("content") {
		return
	}
	m.bytes += len(v.Bytes())
	m.tokens += max(tokensPerImage, int64(len(v.Bytes())/bytesPerDocToken))
}
