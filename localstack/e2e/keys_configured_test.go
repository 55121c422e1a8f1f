package e2e

import (
	"strings"
	"testing"
)

// TestConfiguredKeysAreListed: the keys of the configuration stand in the list
// behind the stored ones, marked, without what proves them, as they are configured
// now; they are read there and changed in the document only.
func TestConfiguredKeysAreListed(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "bolt")
	made(t, r.URL, `{"id":"ci","user":"bot","team":"core"}`)
	type key struct {
		ID, Source, User string
		UserPath         string `json:"user_path"`
		Created, Updated *string
		Enabled          bool
		Key              string
		KeySHA256        string `json:"key_sha256"`
	}
	list := func(query string) (all []key) {
		t.Helper()
		for cursor := ""; ; {
			page, next := entriesOf[key](t, admin(t, "GET", r.URL+"/admin/keys?"+query+"&cursor="+cursor, ""))
			if all = append(all, page...); next == "" {
				return all
			}
			cursor = next
		}
	}
	for query, want := range map[string]string{
		"": "ci a b", "limit=1": "ci a b", "limit=2": "ci a b", "key=a": "a", "key=ci": "ci", "key=none": "", "user_path=/ann": "a", "user_path=/acme": "ci",
		"model=messages": "a b", "model=chat": "ci a b", "from=2020-01-01": "ci", "to=2999-01-01": "ci", "days=2": "ci",
	} {
		var got []string
		for _, k := range list(query) {
			got = append(got, k.ID)
			if stored := k.ID == "ci"; k.Source != map[bool]string{true: "stored", false: "configuration"}[stored] || (k.Created != nil) != stored || (k.Updated != nil) != stored || !k.Enabled || k.Key != "" || k.KeySHA256 != "" {
				t.Errorf("%q: %+v", query, k)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q lists %v, want %s", query, got, want)
		}
	}
	if a := admin(t, "GET", r.URL+"/admin/keys/a", ""); a.StatusCode != 200 || a.field("source") != "configuration" || a.field("user") != "ann" || a.Header.Get("ETag") != "" || strings.Contains(string(a.body), "sha256") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		a := admin(t, method, r.URL+"/admin/keys/a", `{"enabled":false}`)
		if a.StatusCode != 400 || a.code() != "invalid_request" || !strings.Contains(string(a.body), "/admin/config") {
			t.Errorf("%s: %d %s", method, a.StatusCode, a.body)
		}
		if a := admin(t, method, r.URL+"/admin/keys/none", `{"enabled":false}`); a.StatusCode != 404 {
			t.Errorf("%s of none: %d %s", method, a.StatusCode, a.body)
		}
	}
	read := admin(t, "GET", r.URL+"/admin/config", "")
	changed := entry(t, string(read.body), "keys", "b", "enabled", false)
	if put := admin(t, "PUT", r.URL+"/admin/config", changed, "If-Match", read.Header.Get("ETag")); put.StatusCode != 200 {
		t.Fatal(put.body)
	}
	if all := list(""); all[2].ID != "b" || all[2].Enabled {
		t.Errorf("after the change: %+v", all)
	}
	if byKey(t, r.URL, keyA, "chat").StatusCode != 200 || byKey(t, r.URL, keyB, "chat").code() != "key_disabled" {
		t.Error("what is listed is not what rules")
	}
}
