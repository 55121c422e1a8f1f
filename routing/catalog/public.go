package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Public is a copy that may be stored and shown. Literal provider secrets give
// way to local: references, which the process that read the document resolves
// from LocalSecrets and no other can; literal caller keys give way to their
// SHA-256. What is a reference already stays. A public document is its own
// public copy.
func (d *Document) Public() *Document {
	public := *d
	public.Connections = slices.Clone(d.Connections)
	for i := range public.Connections {
		c := &public.Connections[i]
		c.Auth.Keys = slices.Clone(c.Auth.Keys)
		for _, at := range literals(c) {
			*at.secret = at.local
		}
	}
	public.Keys = slices.Clone(d.Keys)
	for i := range public.Keys {
		public.Keys[i] = public.Keys[i].Public()
	}
	return &public
}

// Public is the key with its SHA-256 in place of a literal secret.
func (k Key) Public() Key {
	if literal(k.Key) {
		sum := sha256.Sum256([]byte(k.Key))
		k.Key, k.KeySHA256 = "", hex.EncodeToString(sum[:])
	}
	return k
}

// LocalSecrets are the literal provider secrets of a document by the local:
// references that stand for them in its public copy. They are for the memory of
// the process that read the document, and for nothing else.
func (d *Document) LocalSecrets() map[string]string {
	secrets := map[string]string{}
	for i := range d.Connections {
		for _, at := range literals(&d.Connections[i]) {
			secrets[at.local] = *at.secret
		}
	}
	return secrets
}

// NewLiterals are the places of literal provider secrets that known, asked for
// the local: reference that would stand for one, does not return: whoever has
// read another document only cannot resolve them.
func (d *Document) NewLiterals(known func(reference string) (secret string, found bool)) []string {
	var paths []string
	for i := range d.Connections {
		for _, at := range literals(&d.Connections[i]) {
			if secret, found := known(at.local); !found || secret != *at.secret {
				paths = append(paths, fmt.Sprintf("connections[%d].auth.%s", i, at.field))
			}
		}
	}
	return paths
}

// LiteralPaths are the places of secrets that stand in the document itself,
// which a deployment refuses.
func (d *Document) LiteralPaths() []string {
	var paths []string
	for i := range d.Connections {
		for _, at := range literals(&d.Connections[i]) {
			paths = append(paths, fmt.Sprintf("connections[%d].auth.%s", i, at.field))
		}
	}
	for i, k := range d.Keys {
		if literal(k.Key) {
			paths = append(paths, fmt.Sprintf("keys[%d].key", i))
		}
	}
	return paths
}

// place is where a literal provider secret stands.
type place struct {
	field  string
	secret *string
	local  string // the reference that stands for it in public
}

// literals are the places of a connection where the secret itself stands.
func literals(c *Connection) []place {
	var places []place
	if literal(c.Auth.Key) {
		places = append(places, place{field: "key", secret: &c.Auth.Key, local: SchemeLocal + ":" + c.ID})
	}
	for i := range c.Auth.Keys {
		if literal(c.Auth.Keys[i]) {
			places = append(places, place{
				field: fmt.Sprintf("keys[%d]", i), secret: &c.Auth.Keys[i], local: fmt.Sprintf("%s:%s[%d]", SchemeLocal, c.ID, i),
			})
		}
	}
	return places
}

// literal reports whether text is a secret itself. A broken reference is none.
func literal(text string) bool {
	ref, err := ParseReference(text)
	return text != "" && err == nil && ref.Literal()
}
