// Package front is what the function URL and the code behind it must say
// alike: which headers a page in a browser may read, which methods it may use,
// and by which header a request proves that it came through CloudFront. The
// handlers and the stack both take it from here, so that they cannot drift
// apart. It imports nothing.
package front

// PreflightSeconds is how long a browser may keep a preflight's answer.
const PreflightSeconds = 600

// With a domain the function URL stays reachable, so CloudFront adds a secret to
// every request and the gateway refuses those without it. (Origin access control
// is no way: it needs a hash of the body that no SDK sends.)
const (
	OriginHeader   = "X-Holdfast-Origin"      // carries the secret
	OriginVariable = "HOLDFAST_ORIGIN_SECRET" // names the secret to the gateway: a reference, or unset for no check
)

// ExposedHeaders are the response headers that a page in a browser may read.
func ExposedHeaders() []string {
	return []string{
		"X-Session-Id", "X-Request-Id", "Retry-After",
		"X-Holdfast-Session-Source", "X-Holdfast-Affinity", "X-Holdfast-Deployment", "X-Holdfast-Attempts",
		"X-Holdfast-Error", "X-Holdfast-Request-Id", "X-Holdfast-History-Mode", "X-Holdfast-Dropped",
		"X-Holdfast-Continuation", "X-Holdfast-Cache", "X-Holdfast-Estimated",
	}
}

// Methods are those that a page may use. A function URL answers preflights by
// itself and takes no "OPTIONS" here: names have at most six letters.
func Methods() []string { return []string{"GET", "POST", "DELETE", "HEAD"} }
