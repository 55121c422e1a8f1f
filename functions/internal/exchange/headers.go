package exchange

import "net/http"

// put sets headers, in pairs of a canonical name and a value. All values stand in
// one piece of memory: every exchange sets a dozen.
func put(h http.Header, pairs ...string) {
	values := make([]string, len(pairs)/2)
	for i := range values {
		values[i] = pairs[2*i+1]
		h[pairs[2*i]] = values[i : i+1 : i+1]
	}
}
