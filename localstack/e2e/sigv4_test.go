package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/accounts/sigv4"
)

// The role that Bedrock knows in these tests.
const (
	roleID     = "AKIAROLE"
	roleSecret = "role-secret-0123456789"
	roleToken  = "role-session-token-0123456789"
)

// bedrockDocument leads to one account of Bedrock on this machine, which has
// every model that usual documents have.
func bedrockDocument(fleet *accounts.Fleet) string {
	var b strings.Builder
	b.WriteString("connections: [{id: alpha, provider: bedrock, base_url: " + fleet.URL("alpha") + "/v1, auth: {type: sigv4}, allow_private_network: true}]\ndeployments:\n")
	for _, protocol := range protocols() {
		b.WriteString("  - {id: " + protocol + "-alpha, model: " + protocol + ", connection: alpha, protocol: " + protocol + "}\n")
	}
	return b.String() + "keys: [{id: a, key: " + keyA + "}]\n"
}

// bedrockAccount is an account that wants signatures of keys which lookup knows.
func bedrockAccount(t *testing.T, lookup func(string) (sigv4.Key, bool)) *accounts.Fleet {
	t.Helper()
	return accounts.StartConfigT(t, accounts.Config{Name: "alpha",
		Signed: &accounts.Signed{Region: "eu-west-1", Service: "bedrock", Key: lookup}})
}

// TestSigV4 shows that requests to Bedrock carry signatures that the account
// recomputes over what it has received: every protocol, whole and streamed, each
// attempt anew, with the credentials of the environment.
func TestSigV4(t *testing.T) {
	t.Parallel()
	fleet := bedrockAccount(t, func(id string) (sigv4.Key, bool) {
		return sigv4.Key{ID: roleID, Secret: roleSecret, Token: roleToken}, id == roleID
	})
	r := &rig{t: t, fleet: fleet, config: bedrockDocument(fleet), store: placed("memory"), data: t.TempDir(),
		env: []string{"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=" + roleID, "AWS_SECRET_ACCESS_KEY=" + roleSecret, "AWS_SESSION_TOKEN=" + roleToken}}
	if deployed() {
		r.wire()
	}
	r.Gateway = r.start()
	alpha := fleet.Account("alpha")
	for _, endpoint := range protocols() {
		for _, stream := range []bool{false, true} {
			accounts.InjectT(t, alpha, accounts.Fault{Kind: accounts.ServerError, Times: 1})
			before := alpha.Count()
			a := post(t, r.URL+route(endpoint), ask(endpoint, stream, user("Hello")))
			if n := alpha.Count() - before; a.StatusCode != 200 || n != 2 {
				t.Errorf("%s, stream %v: %d after %d calls, want 200 after 2\n%s", endpoint, stream, a.StatusCode, n, a.body)
			}
		}
	}
	for _, call := range alpha.Calls() {
		if call.Key != accounts.KeyHash(roleID) {
			t.Errorf("a call came with the credential %s", call.Key)
		}
	}
	for _, secret := range []string{roleSecret, roleToken} {
		if strings.Contains(r.Log(), secret) {
			t.Error("a credential is in the log")
		}
	}
}

// TestSigV4Renewed shows that credentials are asked for with the first request,
// kept, and asked for again when they are refused; that request is answered all
// the same. Where nobody gives any it is 502 upstream_credentials.
func TestSigV4Renewed(t *testing.T) {
	t.Parallel()
	var good, asked atomic.Int64
	key := func(n int64) sigv4.Key {
		id := roleID + string(rune('A'+n))
		return sigv4.Key{ID: id, Secret: roleSecret + id, Token: roleToken + id}
	}
	fleet := bedrockAccount(t, func(id string) (sigv4.Key, bool) { k := key(good.Load()); return k, k.ID == id })
	var down atomic.Bool
	container := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		k := key(good.Load())
		_ = json.NewEncoder(w).Encode(map[string]string{"AccessKeyId": k.ID, "SecretAccessKey": k.Secret, "Token": k.Token,
			"Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	}))
	defer container.Close()
	r := &rig{t: t, fleet: fleet, config: bedrockDocument(fleet), store: "memory", data: t.TempDir(),
		env: []string{"AWS_REGION=eu-west-1", "AWS_CONTAINER_CREDENTIALS_FULL_URI=" + container.URL}}
	down.Store(true)
	r.Gateway = r.start()
	if n := asked.Load(); n != 0 {
		t.Errorf("the start has asked for credentials %d times", n)
	}
	if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))); a.StatusCode != 502 || a.code() != "upstream_credentials" {
		t.Errorf("without credentials: %d %s", a.StatusCode, a.body)
	}
	down.Store(false)
	asked.Store(0)
	turn := func(want int) {
		t.Helper()
		before := fleet.Count()
		a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello")))
		if n := fleet.Count() - before; a.StatusCode != 200 || n != want {
			t.Errorf("%d after %d calls, want 200 after %d: %s", a.StatusCode, n, want, a.body)
		}
	}
	turn(1)
	turn(1)
	if n := asked.Load(); n != 1 {
		t.Errorf("credentials were asked for %d times, want once", n)
	}
	good.Store(1) // the role's keys have been replaced
	turn(2)
	turn(1)
	if n := asked.Load(); n != 2 {
		t.Errorf("credentials were asked for %d times, want twice", n)
	}
}
