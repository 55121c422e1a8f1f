package affinity

import (
	"strings"
	"testing"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// The scope enters the whole hash, not only the short one before the slash,
// which may collide.
func TestScopeEntersEveryHash(t *testing.T) {
	keys := func(scope identity.Scope) map[string]store.Key {
		return map[string]store.Key{
			"preference": preferenceKey(scope, identity.Session{ID: "s", Lane: "l"}, "m", "chat"),
			"owner":      ownerKey(scope, Response, "r"),
			"task":       taskKey(scope, Video, "v", ownerSort),
			"tasks":      {Partition: taskListPartition(scope, Video)},
			"history":    {Partition: rootPartition(scope, "r")},
		}
	}
	bob := keys(identity.KeyScope("bob"))
	seen := make(map[string]string)
	for name, key := range keys(identity.KeyScope("alice")) {
		_, hash, _ := strings.Cut(key.Partition, "/")
		if strings.HasSuffix(bob[name].Partition, hash) {
			t.Errorf("%s: two scopes, one hash", name)
		}
		if other, taken := seen[hash]; taken {
			t.Errorf("%s and %s share a hash", name, other)
		}
		seen[hash] = name
	}
}
