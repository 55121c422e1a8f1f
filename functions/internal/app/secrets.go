package app

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoSecret says that a secret reference leads nowhere.
var ErrNoSecret = errors.New("secret is not there")

// secrets resolves references to secrets: env:NAME, or a literal that the
// document itself holds.
type secrets struct {
	lookup func(name string) (string, bool)
}

// Resolve returns what a reference stands for. Its error names the reference,
// never a value.
func (s secrets) Resolve(reference string) (string, error) {
	if name, ok := strings.CutPrefix(reference, "env:"); ok {
		value, found := s.lookup(name)
		if !found || value == "" {
			return "", fmt.Errorf("%w: environment variable %s", ErrNoSecret, name)
		}
		return value, nil
	}
	return reference, nil
}
