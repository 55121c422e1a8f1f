package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
)

// TestModelPages shows the list of models in both forms: what this key may use,
// groups included, whole in one and by pages in the other.
func TestModelPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.key = ", models: [chat, smart, m0, m1, m2, m3]"
		for i := range 4 {
			d.more += fmt.Sprintf("  - {id: d%d, model: m%d, connection: alpha}\n", i, i)
		}
		d.extra = "groups: [{name: smart, members: [chat, messages]}, {name: other, members: [chat]}]\n"
	})
	want := []string{"chat", "m0", "m1", "m2", "m3", "smart"}
	all := get(t, r.URL+"/v1/models", keyA)
	if got := ids(all); fmt.Sprint(got) != fmt.Sprint(want) || all.field("object") != "list" {
		t.Errorf("OpenAI's form: %v", got)
	}
	for _, limit := range []int{1, 2, 4, 6, 7, 1000} {
		var forward, back []string
		for after := ""; ; {
			page := call(t, "GET", fmt.Sprintf("%s/v1/models?limit=%d&after_id=%s", r.URL, limit, after), keyA, "Anthropic-Version", "2023-06-01")
			got := ids(page)
			if forward = append(forward, got...); page.field("has_more") != true {
				break
			}
			if after = page.field("last_id").(string); len(got) != limit || after != got[limit-1] || page.field("first_id") != got[0] {
				t.Fatalf("a page: %s", page.body)
			}
		}
		for before := "smart"; ; {
			page := call(t, "GET", fmt.Sprintf("%s/v1/models?limit=%d&before_id=%s", r.URL, limit, before), keyA, "Anthropic-Version", "2023-06-01")
			if back = append(ids(page), back...); page.field("has_more") != true {
				break
			}
			before = page.field("first_id").(string)
		}
		if fmt.Sprint(forward) != fmt.Sprint(want) || fmt.Sprint(back) != fmt.Sprint(want[:5]) {
			t.Errorf("by pages of %d: %v, backwards %v", limit, forward, back)
		}
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "after_id=responses", "before_id=other", "after_id=m0&before_id=m1"} {
		if a := call(t, "GET", r.URL+"/v1/models?"+query, keyA, "Anthropic-Version", "2023-06-01"); a.StatusCode != 400 || a.field("type") != "error" {
			t.Errorf("%s: %d %s", query, a.StatusCode, a.body)
		}
	}
	for name, status := range map[string]int{"smart": 200, "m3": 200, "other": 404, "responses": 404, "none": 404} {
		if a := call(t, "GET", r.URL+"/v1/models/"+name, keyA, "Anthropic-Version", "2023-06-01"); a.StatusCode != status || status == 200 && (a.field("id") != name || a.field("display_name") != name || !strings.HasSuffix(a.field("created_at").(string), "Z")) {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	client := anthropic.NewClient(anthropicoption.WithBaseURL(r.URL), anthropicoption.WithAPIKey(keyA))
	var seen []string
	for pager := client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(4)}); pager.Next(); {
		seen = append(seen, pager.Current().ID)
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("the SDK saw %v", seen)
	}
}

// ids are the models of a list.
func ids(a answer) []string {
	data, _ := a.field("data").([]any)
	var names []string
	for _, one := range data {
		names = append(names, one.(map[string]any)["id"].(string))
	}
	return names
}
