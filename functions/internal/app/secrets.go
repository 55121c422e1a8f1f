package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"holdfast/affinity/store/dynamo"
	"holdfast/functions/internal/app/vault"
	"holdfast/routing/catalog"
)

// ErrNoSecret says that a secret reference leads nowhere in this process.
var ErrNoSecret = errors.New("secret is not there")

// secrets resolves references to secrets: env: from the environment, local:
// from the file that this process read, ssm: and secretsmanager: from the vault.
// A literal stands for itself.
type secrets struct {
	lookup func(name string) (string, bool)
	local  *localSecrets
	vault  resolver
	away   bool // this process calls no provider: their keys are in others
}

// resolver reads what is kept outside of this process. Resolve's error names
// the reference and never a value; Forget says that a value was refused where it
// was used.
type resolver interface {
	Resolve(catalog.Reference) (string, error)
	Forget(catalog.Reference)
}

// unasked stands for the vault where a document is only looked at: what is kept
// elsewhere is taken to be there.
type unasked struct{}

func (unasked) Resolve(ref catalog.Reference) (string, error) {
	return ref.Scheme + ":" + ref.Name, nil
}
func (unasked) Forget(catalog.Reference) {}

// references are the secrets that a process with these options can reach.
func (o Options) references(local *localSecrets) secrets {
	place := vault.Config{Lookup: lookup(o.Environ), Now: o.Now}
	if o.Credit != nil {
		place.Credentials = func(ctx context.Context) (string, aws.CredentialsProvider, error) {
			found, err := o.Credit(ctx, dynamo.Config{Region: o.Environment.Region})
			return found.Region, found.Credentials, err
		}
	}
	return secrets{lookup: place.Lookup, local: local, vault: vault.New(place)}
}

// refused is told of a reference whose secret a provider did not take: it may
// have been replaced since it was read.
func (s secrets) refused(text string) {
	if ref, err := catalog.ParseReference(text); err == nil && kept(ref) {
		s.vault.Forget(ref)
	}
}

// locked are the connections that cannot be used here: none of their keys is in
// this process, and none may be in the vault, which is asked when one is needed.
func (s secrets) locked(known *catalog.Catalog) map[*catalog.Account]bool {
	if s.away {
		return nil
	}
	locked := map[*catalog.Account]bool{}
	for _, pool := range known.Public() {
		for _, t := range pool.Deployments {
			open := len(t.Account.Keys) == 0
			for _, key := range t.Account.Keys {
				ref, err := catalog.ParseReference(key)
				if err == nil && !kept(ref) {
					_, err = s.Resolve(key)
				}
				open = open || err == nil
			}
			if !open {
				locked[t.Account] = true
			}
		}
	}
	return locked
}

// kept reports whether a reference leads out of this process.
func kept(ref catalog.Reference) bool {
	return ref.Scheme == catalog.SchemeSSM || ref.Scheme == catalog.SchemeManager
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
	case catalog.SchemeSSM, catalog.SchemeManager:
		return s.vault.Resolve(ref)
	case catalog.SchemeLocal:
		if value, here := s.local.get(text); here {
			return value, nil
		}
	}
	return "", fmt.Errorf("%w: %s:%s", ErrNoSecret, ref.Scheme, ref.Name)
}
