package app

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"holdfast/routing/catalog"
)

// ErrNoSecret says that a secret reference leads nowhere in this process.
var ErrNoSecret = errors.New("secret is not there")

// secrets resolves references to secrets: env: from the environment, local:
// from the file that this process read. A literal stands for itself.
type secrets struct {
	lookup func(name string) (string, bool)
	local  *localSecrets
}

// localSecrets are the literals of documents that this process was given, by
// the reference that stands for each in the store.
type localSecrets struct {
	mu sync.RWMutex
	by map[string]string
}

func newLocalSecrets(doc *catalog.Document) *localSecrets {
	l := &localSecrets{by: map[string]string{}}
	l.add(doc)
	return l
}

func (l *localSecrets) add(doc *catalog.Document) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.by, doc.LocalSecrets())
}

func (l *localSecrets) get(reference string) (string, bool) {
	if l == nil {
		return "", false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	value, here := l.by[reference]
	return value, here
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
		if value, here := s.local.get(text); here {
			return value, nil
		}
	}
	return "", fmt.Errorf("%w: %s:%s", ErrNoSecret, ref.Scheme, ref.Name)
}
