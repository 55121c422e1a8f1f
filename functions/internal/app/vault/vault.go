// Package vault reads secrets from AWS Parameter Store and Secrets Manager, the
// places that ssm: and secretsmanager: references name.
//
// Nothing is asked before the first use. A value is kept for five minutes;
// however many ask for it at once, one request is made. A kept value that cannot
// be fetched again stays in use, since a key that works outlives an outage of
// the place where it is kept. Forget makes the next use ask again.
//
// It speaks the two calls it needs itself: the SDK's clients would double what a
// function has to load before its first request.
//
// Concurrency: a Vault is safe for use by many goroutines.
//
// Errors: ErrNotFound, ErrForbidden and ErrUnavailable, each naming the
// reference; none holds a value.
package vault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/singleflight"

	"holdfast/routing/catalog"
)

// What keeps a secret from being read.
var (
	ErrNotFound    = errors.New("vault: there is no such secret")
	ErrForbidden   = errors.New("vault: this process may not read the secret")
	ErrUnavailable = errors.New("vault: the secret's place does not answer")
)

const (
	keep     = 5 * time.Minute  // how long a value is taken as it is
	again    = 10 * time.Second // a value this young is not asked for again by Forget
	patience = 3 * time.Second  // for one secret, both attempts included
	maxKept  = 4096             // values
)

// Config says where secrets are. The zero Config is Lambda's: all of it comes
// from the environment.
type Config struct {
	Lookup func(name string) (string, bool) // variables: AWS_REGION, an access key, AWS_ENDPOINT_URL…

	// Credentials finds region and credentials where the environment holds no
	// access key. It is asked once, at the first use. Nil: there are none.
	Credentials func(context.Context) (region string, found aws.CredentialsProvider, err error)

	Client *http.Client     // nil: one of its own
	Now    func() time.Time // nil: time.Now
}

// Vault reads secrets. Make it with New.
type Vault struct {
	caller caller
	now    func() time.Time
	flight singleflight.Group

	mu   sync.Mutex
	kept map[string]value // by reference without index
}

// value is what was read, and when.
type value struct {
	text  string
	at    time.Time
	stale bool // Forget has been called
}

// New returns a Vault. It contacts nobody.
func New(c Config) *Vault {
	if c.Lookup == nil {
		c.Lookup = func(string) (string, bool) { return "", false }
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Vault{caller: caller{Config: c}, now: c.Now, kept: map[string]value{}}
}

// Resolve returns what an ssm: or secretsmanager: reference stands for.
func (v *Vault) Resolve(ref catalog.Reference) (string, error) {
	name := ref.Scheme + ":" + ref.Name
	found, fresh := v.look(name)
	if !fresh {
		fetched, err, _ := v.flight.Do(name, func() (any, error) { return v.fetch(name, ref) })
		switch {
		case err == nil:
			found = value{text: fetched.(string)}
		case found.at.IsZero():
			return "", fmt.Errorf("%w: %s", err, name)
		}
	}
	// Several values in one secret are told apart as in a variable.
	return ref.FromEnv(func(string) (string, bool) { return found.text, true })
}

// Forget makes the next use of a reference ask again, after a provider has
// refused what was kept.
func (v *Vault) Forget(ref catalog.Reference) {
	name := ref.Scheme + ":" + ref.Name
	v.mu.Lock()
	defer v.mu.Unlock()
	if had, kept := v.kept[name]; kept && v.now().Sub(had.at) >= again {
		had.stale = true
		v.kept[name] = had
	}
}

// look returns what is kept, and whether it may be taken as it is.
func (v *Vault) look(name string) (value, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	had, kept := v.kept[name]
	return had, kept && !had.stale && v.now().Sub(had.at) < keep
}

// fetch reads a secret where it is kept, at most twice.
func (v *Vault) fetch(name string, ref catalog.Reference) (string, error) {
	if had, fresh := v.look(name); fresh {
		return had.text, nil // read by a flight that has just landed
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	text, err := v.caller.read(ctx, ref)
	if errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
		text, err = v.caller.read(ctx, ref)
	}
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kept) >= maxKept {
		clear(v.kept)
	}
	v.kept[name] = value{text: text, at: v.now()}
	return text, nil
}
