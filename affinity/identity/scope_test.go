package identity_test

import (
	"testing"

	"pgregory.net/rapid"

	"holdfast/affinity/identity"
)

// TestScope: I11, scopes are told apart by kind and id, and none is nobody.
func TestScope(t *testing.T) {
	key, user := identity.KeyScope("a"), identity.UserScope("a")
	if key == user || key != identity.KeyScope("a") || key.String() != "key:a" || user.String() != "user:a" {
		t.Errorf("%s, %s", key, user)
	}
	for _, zero := range []identity.Scope{{}, identity.KeyScope(""), identity.UserScope("")} {
		if !zero.IsZero() || zero.String() != "" {
			t.Errorf("not zero: %q", zero)
		}
	}
	if key.IsZero() {
		t.Error("a key is somebody")
	}
	if got, want := string(identity.KeyScope("ab").Append([]byte("x"))), "x\x00\x00\x00\x00\x00\x00\x00\x03key\x00\x00\x00\x00\x00\x00\x00\x02ab"; got != want {
		t.Errorf("appended %q", got)
	}
}

// TestHash: I11, the tuple's parts cannot slide into each other.
func TestHash(t *testing.T) {
	if identity.Hash("a|b", "c") == identity.Hash("a", "b|c") || identity.Hash("a") == identity.Hash("a", "") || identity.Hash() == identity.Hash("") {
		t.Error("different tuples meet")
	}
	part := rapid.StringMatching(`[a|\x00\x01:]{0,9}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(part, 0, 4).Draw(t, "a"), rapid.SliceOfN(part, 0, 4).Draw(t, "b")
		same := len(a) == len(b)
		for i := range a {
			same = same && a[i] == b[i]
		}
		if (identity.Hash(a...) == identity.Hash(b...)) != same {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
