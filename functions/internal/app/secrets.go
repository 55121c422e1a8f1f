package app

import (
	"errors"
	"fmt"

	"holdfast/routing/catalog"
)

// ErrNoSecret says that a secret reference leads nowhere in this process.
var ErrNoSecret = errors.New("secret is not there")

// secrets resolves references to secrets: env: from the environment, local:
// from the file that this process read. A literal stands for itself.
type secrets struct {
	lookup func(name string) (string, bool)
	local  map[string]string // by local: reference
}

// Resolve returns what a reference stands for. Its error names the reference,
// never a value.
func (s secrets) Resolve(text string) (string, error) {
	ref, err := catalog.ParseReference(text)
	if err != nil {
		return "", err
	}
	switch ref.Scheme {
	case "":
		return text, nil
	case catalog.SchemeEnv:
		return ref.FromEnv(s.lookup)
	case catalog.SchemeLocal:
		if value, here := s.local[text]; here {
			return value, nil
		}
	}
	return "", fmt.Errorf("%w: %s:%s", ErrNoSecret, ref.Scheme, ref.Name)
}
