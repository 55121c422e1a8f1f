package ledger

import "testing"

// TestFingerprintOfBytes: a filter that is no text has a mark like any other.
func TestFingerprintOfBytes(t *testing.T) {
	odd, plain := Filter{Key: "\xff\xfe"}, Filter{Key: "a"}
	if len(odd.fingerprint("list")) != 6 || odd.fingerprint("list") == plain.fingerprint("list") || odd.fingerprint("list") == odd.fingerprint("other") {
		t.Errorf("%x %x", odd.fingerprint("list"), plain.fingerprint("list"))
	}
}
