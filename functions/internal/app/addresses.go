package app

import (
	"fmt"
	"net/url"
	"sync"
)

// addresses are where the simulated accounts of this run listen, by name. The
// document names them demo://NAME, so that ownership survives a restart on
// other ports.
type addresses map[string]string

// resolver returns a function that finds the URL behind a connection's base URL,
// not to be changed. Those of configured connections are taken apart once.
func (a addresses) resolver() func(base string) (*url.URL, error) {
	var known sync.Map // base URL → *url.URL
	return func(base string) (*url.URL, error) {
		if found, ok := known.Load(base); ok {
			return found.(*url.URL), nil
		}
		found, err := a.resolve(base)
		if err == nil {
			known.Store(base, found)
		}
		return found, err
	}
}

// resolve returns the URL behind a connection's base URL.
func (a addresses) resolve(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if u.Scheme != "demo" {
		return u, nil
	}
	at, known := a[u.Host]
	if !known {
		return nil, fmt.Errorf("simulated account %q is not running; start with -demo", u.Host)
	}
	return url.Parse(at)
}
