package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// block writes one block of text or media.
func (o *opening) block(b object, s sort) Reason {
	switch s {
	case text:
		o.out.raw(`{"text":`)
		if !o.out.str(b.text) {
			return Malformed
		}
		o.out.raw(`,"type":"text"}`)
		return ""
	case image, audio, file:
		return o.media(b, s)
	}
	return UnknownContent
}

// media writes a reference to what the block carries: the file's id, its URL, or
// a hash of its bytes with their media type. Equal bytes have equal references
// whichever protocol carries them. Names, titles and details are left out.
func (o *opening) media(b object, s sort) Reason {
	carrier, ok := b.carrier()
	if !ok {
		return UnreadableMedia
	}
	o.out.raw(`{"ref":`)
	if !o.reference(carrier, s) {
		return UnreadableMedia
	}
	o.out.raw(`,"type":"` + s.name(carrier) + `"}`)
	return ""
}

// name is a media block's canonical type. The protocols call one thing a file
// or a document; here it is a file where it is known by its id only, and a
// document where its bytes or its place are given.
func (s sort) name(carrier object) string {
	switch {
	case s == image:
		return "image"
	case s == audio:
		return "audio"
	case carrier.fileID != nil:
		return "file"
	}
	return "document"
}

// carrier is the object that says where the media is: one inside the block, or
// the block itself.
func (o object) carrier() (object, bool) {
	for _, inner := range [...][]byte{o.source, o.file, o.audio} {
		if inner != nil {
			return parse(inner)
		}
	}
	switch {
	case o.image == nil:
	case isString(o.image):
		o.url = o.image
	default:
		inner, ok := parse(o.image)
		o.url = inner.url
		return o, ok
	}
	return o, true
}

// reference writes the value of a ref, false where there is none. A file's id
// counts before its place, and that before its bytes.
func (o *opening) reference(m object, s sort) bool {
	url, data := m.fileURL, m.fileData
	if url == nil {
		url = m.url
	}
	if data == nil {
		data = m.data
	}
	switch {
	case m.fileID != nil:
		return o.name(m.fileID)
	case url != nil:
		return o.address(url)
	case data != nil && string(word(m.kind)) == "text":
		return o.plain(data, m)
	case data != nil:
		return o.bytes(data, mediaType(m, s))
	}
	return m.content != nil && o.blocks(m.content)
}

// name writes an id or URL as it is.
func (o *opening) name(raw []byte) bool {
	return isString(raw) && !o.out.text.blank(raw) && o.out.str(raw)
}

// address writes a URL; one that holds the bytes themselves becomes their hash.
func (o *opening) address(raw []byte) bool {
	if o.out.text.starts(raw, "data:") {
		return o.bytes(raw, "")
	}
	return o.name(raw)
}

// bytes writes the hash of media that are given in base64, alone or inside a
// data: URL. A data: URL in another form is its own reference.
func (o *opening) bytes(raw []byte, mediaType string) bool {
	d := &o.out.text
	if d.starts(raw, "data:") {
		head, ok := d.head(raw)
		if !ok || !head.base64 {
			return ok && o.name(raw)
		}
		mediaType = head.mediaType
	} else {
		d.open(raw)
	}
	in := base64Reader{sum: sha256.New()}
	for piece := d.next(); piece != nil; piece = d.next() {
		in.write(piece)
	}
	in.close()
	return !d.bad && !in.bad && o.sum(in.sum, mediaType)
}

// plain writes the hash of a document that is given as text: its bytes are the
// text in UTF-8.
func (o *opening) plain(raw []byte, m object) bool {
	sum, d := sha256.New(), &o.out.text
	d.open(raw)
	for piece := d.next(); piece != nil; piece = d.next() {
		sum.Write(piece)
	}
	mediaType := normalType(string(word(m.mediaType)))
	if mediaType == "" {
		mediaType = "text/plain"
	}
	return !d.bad && o.sum(sum, mediaType)
}

// blocks writes the hash of a document that is made of blocks, as if they were
// an opening of their own: one user turn.
func (o *opening) blocks(content []byte) bool {
	if o.nested {
		return false
	}
	inner := opening{out: newCanonical(), nested: true}
	inner.out.raw("[")
	if inner.turn("user", content) != "" || inner.turns == 0 {
		return false
	}
	inner.out.raw("]")
	inner.out.flush(1)
	return o.sum(inner.out.sum, "application/json")
}

// sum writes "sha256:<hex>;<media type>".
func (o *opening) sum(sum hash.Hash, mediaType string) bool {
	var room [sha256.Size]byte
	ref := "sha256:" + hex.EncodeToString(sum.Sum(room[:0])) + ";" + mediaType
	quoted, err := jsontext.AppendQuote(nil, ref)
	o.out.bytes(quoted)
	return err == nil
}

// mediaType is what a block says that its bytes are.
func mediaType(m object, s sort) string {
	if stated := normalType(string(word(m.mediaType))); stated != "" {
		return stated
	}
	if format := string(word(m.format)); s == audio && format != "" {
		return "audio/" + strings.ToLower(format)
	}
	return "application/octet-stream"
}

// normalType lowers a media type and cuts its parameters off.
func normalType(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}
