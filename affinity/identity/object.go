package identity

import "bytes"

// maxWord bounds a role, a type or a media type in bytes; office documents have
// media types of more than 70.
const maxWord = 128

// object holds the raw members that matter of a turn, a block, or what a block
// holds inside; nil where absent or null. All other members are metadata and
// are not looked at.
type object struct {
	role, kind, content, text  []byte // of a turn; text also of a block
	source, file, audio, image []byte // what holds a block's media; image may be a URL itself
	fileID, fileURL, url       []byte // media by reference
	fileData, data             []byte // media by its bytes
	mediaType, format          []byte // what the bytes are
	plain                      bool   // no object at all but a plain string, in text
}

// parse reads an object's members in one pass; false where raw is no object.
func parse(raw []byte) (o object, ok bool) {
	c := enter(raw, '{')
	for name, value, more := c.member(); more; name, value, more = c.member() {
		if field := o.field(string(name)); field != nil && present(value) {
			*field = value
		}
	}
	return o, !c.bad
}

// field returns where a member belongs, nil for metadata.
func (o *object) field(name string) *[]byte {
	switch name {
	case "role":
		return &o.role
	case "type":
		return &o.kind
	case "content":
		return &o.content
	case "text":
		return &o.text
	case "source":
		return &o.source
	case "file":
		return &o.file
	case "input_audio":
		return &o.audio
	case "image_url":
		return &o.image
	case "file_id":
		return &o.fileID
	case "file_url":
		return &o.fileURL
	case "url":
		return &o.url
	case "file_data":
		return &o.fileData
	case "data":
		return &o.data
	case "media_type":
		return &o.mediaType
	case "format":
		return &o.format
	}
	return nil
}

// word decodes a short string that is compared with known ones; nil where it is
// none.
func word(raw []byte) []byte {
	text, reason := unquote(raw, maxWord)
	if reason != "" || len(text) > maxWord {
		return nil
	}
	return text
}

// sort is what a block is, in any of the protocols.
type sort int

const (
	unknown sort = iota
	text
	result // of a tool
	image
	audio
	file // files and documents: one thing under several names
)

// sort tells a block by its type.
func (o object) sort() sort {
	kind := word(o.kind)
	switch string(kind) {
	case "text", "input_text":
		if isString(o.text) {
			return text
		}
	case "image_url", "input_image", "image":
		return image
	case "input_audio":
		return audio
	case "document", "input_file", "file", "container_upload":
		return file
	default:
		if bytes.HasSuffix(kind, []byte("tool_result")) { // servers' own tools have longer names
			return result
		}
	}
	if o.plain {
		return text
	}
	return unknown
}

// eachBlock calls do for every block of a content until it says to stop or gives
// a reason. A plain string is one text block, in a list as well; no content is
// no block.
func eachBlock(content []byte, do func(object) (more bool, reason Reason)) Reason {
	if content == nil {
		return ""
	}
	if isString(content) {
		_, reason := do(textBlock(content))
		return reason
	}
	c := enter(content, '[')
	for raw, ok := c.element(); ok; raw, ok = c.element() {
		block, good := textBlock(raw), isString(raw)
		if !good {
			block, good = parse(raw)
		}
		if !good {
			return UnknownContent
		}
		if more, reason := do(block); !more || reason != "" {
			return reason
		}
	}
	if c.bad {
		return UnknownContent
	}
	return ""
}

func textBlock(raw []byte) object { return object{text: raw, plain: true} }

func isString(raw []byte) bool {
	raw = trim(raw)
	return len(raw) > 0 && raw[0] == '"'
}
