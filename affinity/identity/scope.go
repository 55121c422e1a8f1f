package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Scope is who is calling, from authentication only: nothing that a client
// sends can choose it. Everything remembered belongs to one scope. The zero
// Scope is no trusted caller: identity works, but nothing is claimed, committed
// or owned. Scopes are comparable.
type Scope struct {
	kind, id string
}

// KeyScope is the scope of a caller key by its id, never by the key itself. An
// empty id is the zero Scope.
func KeyScope(id string) Scope { return scope("key", id) }

// UserScope is the scope of a user without a key of its own. An empty id is the
// zero Scope.
func UserScope(id string) Scope { return scope("user", id) }

func scope(kind, id string) Scope {
	if id == "" {
		return Scope{}
	}
	return Scope{kind, id}
}

// IsZero reports whether there is no trusted caller.
func (s Scope) IsZero() bool { return s == Scope{} }

// String returns "key:<id>" or "user:<id>", and "" for the zero Scope. It is
// unambiguous by itself, not when joined with other text: hash it as one part.
func (s Scope) String() string {
	if s.IsZero() {
		return ""
	}
	return s.kind + ":" + s.id
}

// Append appends the scope in the length-prefixed form that Hash uses, as two
// parts.
func (s Scope) Append(dst []byte) []byte {
	return AppendPart(AppendPart(dst, s.kind), s.id)
}

// AppendPart appends one part of a tuple, preceded by its length as eight
// bytes, big-endian. A sequence of parts can be read back in one way only.
func AppendPart(dst []byte, part string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(part)))
	return append(dst, part...)
}

// Hash returns the SHA-256 of a tuple, every part preceded by its length, so
// that ("a|b", "c") and ("a", "b|c") never meet. Give the first part the
// purpose, so that tuples of different purposes never meet either.
func Hash(parts ...string) [sha256.Size]byte {
	var room [512]byte // the usual tuple is hashed without touching the heap
	b := room[:0]
	for _, part := range parts {
		b = AppendPart(b, part)
	}
	return sha256.Sum256(b)
}

func hexHash(parts ...string) string {
	sum := Hash(parts...)
	return hex.EncodeToString(sum[:])
}
