package e2e

import (
	"math"
	"net/http"
	"strings"
	"testing"
)

// TestWrittenZeros: a zero in the document that would be taken for nothing at all
// is refused by its path, at a start and through the admin API.
func TestWrittenZeros(t *testing.T) {
	t.Parallel()
	for place, document := range map[string]string{
		"templates[0].retry_policy.max_attempts": validDocument + "templates: [{id: t, retry_policy: {max_attempts: 0}}]\n",
		"templates[0].response_cache.ttl":        validDocument + "templates: [{id: t, response_cache: {enabled: true, ttl: 0}}]\n",
		"deployments[0].timeout":                 strings.Replace(validDocument, "protocol: chat", "protocol: chat, timeout: 0", 1),
		"deployments[0].timeout_json":            strings.Replace(validDocument, "protocol: chat", "protocol: chat, timeout_json: 0s", 1),
		"deployments[0].idle_timeout":            strings.Replace(validDocument, "protocol: chat", "protocol: chat, idle_timeout: 0", 1),
		"deployments[0].capabilities.context":    strings.Replace(validDocument, "protocol: chat", "protocol: chat, capabilities: {context: 0}", 1),
		"deployments[0].endpoints":               strings.Replace(validDocument, "protocol: chat", "protocol: chat, endpoints: []", 1),
		"guardrails[0].max_bytes":                validDocument + "guardrails: [{name: g, match: x, max_bytes: 0, action: log}]\n",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, folder, "holdfast.yaml", document)
			out, code := command(t, folder, []string{"K=k", "ME=m"}, "-check")
			if code != 1 || !strings.Contains(out, "\n"+place+": ") && !strings.HasPrefix(out, place+": ") {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
	r := newAdminRig(t, "memory")
	read := admin(t, "GET", r.URL+"/admin/config", "")
	zero := strings.Replace(r.config, "keys:\n", "templates: [{id: t, retry_policy: {max_attempts: 0}}]\nkeys:\n", 1)
	put := admin(t, "PUT", r.URL+"/admin/config", zero, "If-Match", read.Header.Get("ETag"))
	if put.StatusCode != http.StatusBadRequest || !strings.Contains(string(put.body), `"templates[0].retry_policy.max_attempts"`) {
		t.Errorf("PUT: %d %s", put.StatusCode, put.body)
	}
}

// TestFlagsWithoutEffect: a flag that could do nothing is refused, or told of.
func TestFlagsWithoutEffect(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"force without a file", []string{"-config-force"}, 2, "-config FILE"},
		{"force without a file in the demo", []string{"-demo", "-store", "memory", "-config-force"}, 2, "-config FILE"},
		{"force and check without a file", []string{"-config-force", "-check"}, 2, "-config FILE"},
		{"no address", []string{"-demo", "-store", "memory", "-addr", ""}, 2, "HOST:PORT"},
		{"environments that share nothing", []string{"-demo", "-lambda", "2", "-store", "memory"}, 1, "-store dynamodb"},
		{"fewer than no environments", []string{"-demo", "-lambda", "-1", "-store", "dynamodb"}, 1, "positive"},
		{"a folder that is not used", []string{"-demo", "-check", "-store", "memory", "-data", "x"}, 0, "-data is the place of -store bolt"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out, code := command(t, t.TempDir(), nil, row.args...)
			if code != row.code || !strings.Contains(out, row.want) {
				t.Errorf("exit code %d, want %d; %q in\n%s", code, row.code, row.want, out)
			}
		})
	}
}

// TestLiteralThroughAdmin: a provider's key that is put as a literal stays in the
// process that takes it. Where that process calls the provider, it works and the
// operator is warned; where others do, it is refused before it can lock the
// connection.
func TestLiteralThroughAdmin(t *testing.T) {
	t.Parallel()
	for _, store := range rigs("memory", onLambda) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newAdminRig(t, store)
			read := admin(t, "GET", r.URL+"/admin/config", "")
			literal := strings.ReplaceAll(r.config, "env:UPSTREAM_KEY", upstreamKey)
			put := admin(t, "PUT", r.URL+"/admin/config", literal, "If-Match", read.Header.Get("ETag"))
			said := string(put.body)
			if !strings.Contains(said, `"connections[0].auth.key"`) || !strings.Contains(said, "in this process") || strings.Contains(said, upstreamKey) {
				t.Errorf("%d %s", put.StatusCode, said)
			}
			if want := map[string]int{"memory": 200, onLambda: 400}[store]; put.StatusCode != want {
				t.Errorf("%d, want %d", put.StatusCode, want)
			}
			for range 8 {
				if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))); a.StatusCode != 200 {
					t.Errorf("afterwards: %d %s", a.StatusCode, a.body)
				}
			}
		})
	}
}

// TestModelNames: what a request may name as its model can be asked about, with its
// slash in both forms, in both protocols, by who may use it only, and as it is
// configured now.
func TestModelNames(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory", func(d *document) {
		d.key = ", models: [chat, vendor/one]"
		d.more = "  - {id: slashed, model: vendor/one, connection: alpha, protocol: chat}\n"
		d.extra = "models: [{name: chat, aliases: [vendor/chat]}]\ngroups: [{name: all/of, members: [chat, messages]}]\n"
	})
	for name, want := range map[string]struct {
		id        string
		forOthers bool
	}{
		"chat": {"chat", false}, "vendor/chat": {"chat", false}, "vendor/one": {"vendor/one", false},
		"all/of": {"all/of", true}, "messages": {"messages", true},
	} {
		for _, path := range []string{name, strings.ReplaceAll(name, "/", "%2F"), strings.ReplaceAll(name, "/", "%2f")} {
			for _, at := range []string{"/v1/models/", "/models/"} {
				for key, status := range map[string]int{keyA: map[bool]int{false: 200, true: 404}[want.forOthers], keyB: 200} {
					plain := get(t, r.URL+at+path, key)
					versioned := call(t, "GET", r.URL+at+path, key, "Anthropic-Version", "2023-06-01")
					if plain.StatusCode != status || versioned.StatusCode != status {
						t.Errorf("%s: %d and %d, want %d", path, plain.StatusCode, versioned.StatusCode, status)
					}
					if status == 200 && (plain.field("id") != want.id || plain.field("object") != "model" || versioned.field("id") != want.id || versioned.field("type") != "model") {
						t.Errorf("%s: %s %s", path, plain.body, versioned.body)
					}
				}
			}
		}
		if a := post(t, r.URL+route("chat"), member(ask("chat", false, user("Hello")), "model", name), "Authorization", "Bearer "+keyB); a.StatusCode != 200 {
			t.Errorf("%s as a model: %d %s", name, a.StatusCode, a.body)
		}
	}
}

// TestModelNamesFollow: one model is described by the configuration of now, also by
// a process that has served nothing since it changed.
func TestModelNamesFollow(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, onLambda)
	read := admin(t, "GET", r.URL+"/admin/config", "")
	renamed := strings.ReplaceAll(r.config, "model: chat", "model: renamed")
	if put := admin(t, "PUT", r.URL+"/admin/config", renamed, "If-Match", read.Header.Get("ETag")); put.StatusCode != 200 {
		t.Fatalf("%d %s", put.StatusCode, put.body)
	}
	for range 4 { // each environment's first request since
		if a := get(t, r.URL+"/v1/models/renamed", keyA); a.StatusCode != 200 {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
	if a := get(t, r.URL+"/v1/models/chat", keyA); a.StatusCode != 404 {
		t.Errorf("what is gone: %d %s", a.StatusCode, a.body)
	}
}

// TestWrittenPrices: a cache that is written to be free is free, and one that nothing
// is said of costs what fresh input costs, in the ledger and in the document that is
// stored.
func TestWrittenPrices(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt", func(d *document) {
		d.more = "  - {id: free, model: free, connection: alpha, protocol: chat, price: {input: 3, cached_input: 0, output: 15}}\n" +
			"  - {id: unsaid, model: unsaid, connection: bravo, protocol: chat, price: {input: 3, output: 15}}\n"
	})
	stored := admin(t, "GET", r.URL+"/admin/config", "")
	again := admin(t, "PUT", r.URL+"/admin/config", string(stored.body), "If-Match", stored.Header.Get("ETag"))
	if again.StatusCode != 200 {
		t.Fatal(again.body)
	}
	for _, model := range []string{"free", "unsaid"} {
		for range 2 {
			if a := post(t, r.URL+route("chat"), member(ask("chat", false, user(long(3000))), "model", model)); a.StatusCode != 200 {
				t.Fatal(a.body)
			}
		}
	}
	r.Stop() // all is booked
	r.Gateway = r.start()
	events := read[page[booked]](t, r.URL+"/admin/audit/log").Entries
	if len(events) != 4 {
		t.Fatalf("%d events", len(events))
	}
	hits := 0
	for _, e := range events {
		warm := map[string]float64{"free": 0, "unsaid": 3}[e.Model]
		u := e.Usage
		want := (float64(u.Input)*3 + float64(u.CacheRead)*warm + float64(u.Write5m+u.Write1h)*3 + float64(u.Output)*15) / 1e6
		saved := float64(u.CacheRead) * (3 - warm) / 1e6
		if e.Cost == nil || e.Saved == nil || math.Abs(e.Cost.Total-want) > 1e-9 || math.Abs(*e.Saved-saved) > 1e-9 {
			t.Errorf("%s: %+v costs %+v, saved %v, want %g and %g", e.Model, u, e.Cost, e.Saved, want, saved)
		}
		if u.CacheRead > 0 {
			hits++
		}
	}
	if hits != 2 {
		t.Errorf("%d of the turns read from a cache, want one of each model", hits)
	}
}
