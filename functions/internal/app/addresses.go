package app

import (
	"fmt"
	"net/url"
)

// addresses are where the simulated accounts of this run listen, by name. The
// document names them demo://NAME, so that ownership survives a restart on
// other ports.
type addresses map[string]string

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
