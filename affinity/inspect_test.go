package affinity_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

func TestPreferencesOfASession(t *testing.T) {
	w := newWorld(1)
	w.serve(t, 0, turn{scope: alice, session: "s", endpoint: "chat"}, "a")
	w.serve(t, 0, turn{scope: alice, session: "s", endpoint: "messages"}, "b")
	w.serve(t, 0, turn{scope: alice, session: "s", endpoint: "messages", lane: "agent"}, "c")
	w.serve(t, 0, turn{scope: alice, session: "other"}, "d")
	w.serve(t, 0, turn{scope: identity.KeyScope("bob"), session: "s"}, "e")

	key := affinity.SessionKey(alice, "s")
	if p := w.plan(t, 0, turn{scope: alice, session: "s"}); p.SessionKey() != key {
		t.Errorf("session key %q, from a plan %q", key, p.SessionKey())
	}
	got, err := w.states[0].Preferences(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	expires := w.Now().Add(time.Hour)
	want := []affinity.Preference{
		{Endpoint: "chat", Target: target("a"), Expires: expires},
		{Endpoint: "messages", Target: target("b"), Expires: expires},
		{Endpoint: "messages", Target: target("c"), Expires: expires},
	}
	opts := []cmp.Option{
		cmpopts.SortSlices(func(a, b affinity.Preference) bool { return a.Target.Deployment < b.Target.Deployment }),
		cmpopts.IgnoreFields(affinity.Preference{}, "Key", "Revision"),
	}
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "x", key + "-", strings.Repeat("z", 16) + "-" + strings.Repeat("0", 64), key + "-" + strings.Repeat("0", 64)} {
		if _, err := w.states[0].Preferences(t.Context(), bad); !errors.Is(err, affinity.ErrNotFound) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOperatorSetsAndClears(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	running := w.plan(t, 0, r)
	ctx, s := t.Context(), w.states[0]
	all, _ := s.Preferences(ctx, affinity.SessionKey(alice, "s"))
	w.Advance(time.Minute)
	if err := s.SetPreference(ctx, all[0].Key, target("b")); err != nil {
		t.Fatal(err)
	}
	if got := commit(t, running, "a"); got != affinity.Stale {
		t.Errorf("a running exchange undid the operator's switch: %v", got)
	}
	set, _ := s.Preferences(ctx, affinity.SessionKey(alice, "s"))
	want := affinity.Preference{Key: all[0].Key, Endpoint: "responses", Target: target("b"), Expires: all[0].Expires}
	if diff := cmp.Diff([]affinity.Preference{want}, set, cmpopts.IgnoreFields(want, "Revision")); diff != "" {
		t.Error(diff)
	}
	for range 2 { // the second finds nothing
		err := s.ClearPreference(ctx, all[0].Key)
		if got := w.preferred(t, 0, r); got != "" {
			t.Errorf("prefers %q after %v", got, err)
		}
		if err != nil && !errors.Is(err, affinity.ErrNotFound) {
			t.Error(err)
		}
	}
	for _, key := range []string{all[0].Key, "", "a-b-c"} {
		if err := s.SetPreference(ctx, key, target("c")); !errors.Is(err, affinity.ErrNotFound) {
			t.Errorf("set %q: %v", key, err)
		}
	}
}

// X3: no id that a client or a caller chose appears in any key, and no prompt.
func TestX3KeysTellNothing(t *testing.T) {
	w := newWorld(1)
	scope := identity.KeyScope("secret-scope")
	r := turn{scope: scope, session: "secret-session", lane: "secret-lane", model: "secret-model"}
	w.serve(t, 0, r, "a")
	publish(t, w, 0, r, "secret-response", nil)
	publish(t, w, 0, turn{scope: scope, parent: "secret-response", model: "secret-model"}, "secret-child", nil)
	publish(t, w, 0, turn{scope: scope, parent: "secret-response", model: "secret-model"}, "secret-branch", nil)
	task := video(w, "secret-video")
	if err := w.states[0].CreateTask(t.Context(), scope, task); err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`^[0-9a-f]{16}/[0-9a-f]{64}$`)
	all := w.dump(t, store.Affinity, store.State)
	if len(all) != 1+3*2+3 {
		t.Errorf("%d records", len(all))
	}
	owners := make(map[string]bool)
	for key := range all {
		if !plain.MatchString(key.Partition) || strings.Contains(key.Sort, "secret") {
			t.Errorf("key %+v", key)
		}
		owners[key.Partition[:16]] = true
	}
	if len(owners) != 1 {
		t.Errorf("one scope has %d owners in the store", len(owners))
	}
	for key, record := range w.dump(t, store.Affinity) {
		if strings.Contains(record.Value, "secret-s") || strings.Contains(record.Value, "secret-l") {
			t.Errorf("%v holds %s", key, record.Value)
		}
	}
}
