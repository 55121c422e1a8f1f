package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Position is where a page ended, in the order of its query.
type Position struct {
	Sort string // of the index where the query is indexed, else of the record
	Key  Key    // of the record; tells records of equal index sort apart
}

// cursorVersion begins every cursor; another first byte is a foreign one.
const cursorVersion = 1

// CursorAfter returns the cursor that goes on after p. It holds the position
// and a hash of the query, and needs no memory in the store; since partition
// and bounds always come from the query, a forged one reads nothing more.
func (q Query) CursorAfter(p Position) string {
	id := q.fingerprint()
	b := append([]byte{cursorVersion}, id[:8]...)
	b = appendText(b, p.Sort)
	if q.Indexed {
		b = appendText(appendText(b, p.Key.Partition), p.Key.Sort)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Position returns what the query's cursor holds, and false where it has none.
// A cursor of another query, or of nobody's making, is ErrInvalid.
func (q Query) Position() (Position, bool, error) {
	if q.Cursor == "" {
		return Position{}, false, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	id := q.fingerprint()
	if err != nil || len(b) < 9 || b[0] != cursorVersion || string(b[1:9]) != string(id[:8]) {
		return Position{}, false, invalid("foreign cursor")
	}
	// What follows may be anybody's bytes; it must still be a position.
	p := Position{Key: Key{Table: q.Table, Partition: q.Partition}}
	b = b[9:]
	ok := cutText(&b, &p.Sort)
	p.Key.Sort = p.Sort
	if q.Indexed {
		ok = ok && cutText(&b, &p.Key.Partition) && cutText(&b, &p.Key.Sort)
	}
	if !ok || len(b) > 0 || checkKey(p.Key) != nil || p.Sort == "" || len(p.Sort) > MaxKeyBytes {
		return Position{}, false, invalid("foreign cursor")
	}
	return p, true, nil
}

// fingerprint hashes what must be the same on every page; the limit may change.
func (q Query) fingerprint() [sha256.Size]byte {
	flags := byte(0)
	if q.Indexed {
		flags |= 1
	}
	if q.Reverse {
		flags |= 2
	}
	b := []byte{byte(q.Table), flags}
	return sha256.Sum256(appendText(appendText(appendText(b, q.Partition), q.From), q.To))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutText takes what appendText wrote off the front of b.
func cutText(b *[]byte, s *string) bool {
	n, width := binary.Uvarint(*b)
	if width <= 0 || n > uint64(len(*b)-width) {
		return false
	}
	*s = string((*b)[width : width+int(n)])
	*b = (*b)[width+int(n):]
	return true
}
