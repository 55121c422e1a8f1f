package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// command runs the binary to its end and returns what it printed and its exit
// code.
func command(t *testing.T, folder string, env []string, args ...string) (output string, code int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, args...)
	c.Dir, c.Env = folder, append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return both.String(), code
}

func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const validDocument = `connections: [{id: one, provider: openai, auth: {key: "env:K"}}]
deployments: [{id: d, model: m, connection: one, protocol: chat}]
keys: [{id: me, key: "env:ME"}]
`

// TestCheck shows that every problem is printed with its path, and the exit
// codes.
func TestCheck(t *testing.T) {
	t.Parallel()
	env := []string{"K=provider-secret", "ME=caller-secret"}
	rows := []struct {
		name, document string
		env            []string
		code           int
		want           []string
	}{
		{"valid", validDocument, env, 0, []string{"valid"}},
		{"all problems at once", `connections: [{id: one, provider: nobody, colour: red}]
deployments: [{id: d, model: m, connection: two, protocol: smtp, weight: -1}]
session: {headers: [{header: Authorization}]}
`, env, 1, []string{"connections[0].colour", "connections[0].provider", "deployments[0].connection", "deployments[0].protocol",
			"deployments[0].weight", "session.headers[0]", "Authorization"}},
		{"the environment beside the document", strings.Replace(validDocument, "protocol: chat", "protocol: smtp", 1), []string{"SESSION_AUTO_DETECT=maybe"}, 1,
			[]string{"deployments[0].protocol", "keys[0].key: no key: ME is not set", "connections[0].auth.key: K is not set", "SESSION_AUTO_DETECT"}},
		{"a caller's secret that is not there", validDocument, []string{"K=x"}, 1, []string{"keys[0]", "ME"}},
		{"no YAML", "connections: [", env, 1, nil},
		{"empty", "", env, 1, []string{"empty"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			file := write(t, folder, "c.yaml", row.document)
			for _, args := range [][]string{{"-check", "-config", file}, {"-check"}} {
				out, code := command(t, folder, append(row.env, "HOLDFAST_CONFIG="+file), args...)
				if code != row.code {
					t.Errorf("%v: exit code %d, want %d\n%s", args, code, row.code, out)
				}
				for _, want := range row.want {
					if !strings.Contains(out, want) {
						t.Errorf("%v: no %q in\n%s", args, want, out)
					}
				}
				if strings.Contains(out, "secret\n") || strings.Contains(out, "provider-secret") || strings.Contains(out, "caller-secret") {
					t.Errorf("a secret is shown:\n%s", out)
				}
			}
		})
	}
}

// TestStartsThatFail shows the exit codes of starts that cannot work.
func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	rows := []struct {
		name string
		env  []string
		args []string
		code int
		want string
	}{
		{"unknown flag", nil, []string{"-nonsense"}, 2, "nonsense"},
		{"stray argument", nil, []string{"serve"}, 2, "serve"},
		{"unknown store", nil, []string{"-store", "redis"}, 1, "memory, bolt or dynamodb"},
		{"missing file", nil, []string{"-config", "nowhere.yaml"}, 1, "nowhere.yaml"},
		{"invalid file", nil, []string{"-config", "bad.yaml"}, 1, "connections"},
		{"busy address", nil, []string{"-demo", "-store", "memory", "-addr", strings.TrimPrefix(r.URL, "http://")}, 1, "-addr"},
		{"nothing configured", nil, []string{"-demo=false"}, 1, "holdfast.yaml"},
		{"bad log level", []string{"HOLDFAST_LOG_LEVEL=loud"}, nil, 2, "HOLDFAST_LOG_LEVEL"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, folder, "bad.yaml", "deployments: []\n")
			out, code := command(t, folder, row.env, row.args...)
			if code != row.code || !strings.Contains(out, row.want) {
				t.Errorf("exit code %d, want %d; %q in\n%s", code, row.code, row.want, out)
			}
		})
	}
}

// TestHelp: asking for the flags is no mistake.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-h", "-help", "--help"} {
		out, code := command(t, t.TempDir(), nil, flag)
		if code != 0 || !strings.Contains(out, "-config-force") {
			t.Errorf("%s: exit code %d\n%s", flag, code, out)
		}
	}
}

// TestReaderLeaves: a gateway outlives whoever reads what it writes, and stops
// in order.
func TestReaderLeaves(t *testing.T) {
	t.Parallel()
	read, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	c := exec.CommandContext(t.Context(), binary, "-demo", "-store", "memory", "-addr", "127.0.0.1:0")
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), written, written
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	written.Close()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	for range 3 { // each writes a line of the log
		body := `{"model":"demo-chat","messages":[{"role":"user","content":"Hello"}]}`
		if a := post(t, url+route("chat"), body, "Authorization", "Bearer sk-holdfast-demo"); a.StatusCode != 200 {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// TestStoredRevisionRules shows that a file seeds the store once, that the
// stored revision rules from then on, and that -config-force replaces it.
func TestStoredRevisionRules(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	body := ask("chat", false, user("Hello"))
	old := r.config
	r.Stop()
	r.config = strings.ReplaceAll(old, "model: chat", "model: renamed")
	r.Gateway = r.start()
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 200 {
		t.Errorf("the changed file rules: %d %s", a.StatusCode, a.body)
	}
	if !strings.Contains(r.Log(), "config-force") {
		t.Errorf("no word of the file that does not rule: %s", r.Log())
	}
	r.Stop()
	r.Gateway = r.start("-config-force")
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 404 || a.code() != "model_not_found" {
		t.Errorf("after -config-force: %d %s", a.StatusCode, a.body)
	}
	r.Stop()
	r.config = old
	r.Gateway = r.start() // the forced revision is the stored one now
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 404 {
		t.Errorf("after a restart: %d %s", a.StatusCode, a.body)
	}
}

// TestLiteralSecretsStayOutOfTheStore shows that a stored configuration holds
// neither a provider's nor a caller's secret.
func TestLiteralSecretsStayOutOfTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt", func(d *document) {})
	r.Stop()
	r.config = strings.ReplaceAll(r.config, `"env:UPSTREAM_KEY"`, upstreamKey)
	r.Gateway = r.start("-config-force")
	if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	r.Stop()
	file, err := os.ReadFile(filepath.Join(r.data, "data", "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{upstreamKey, keyA, keyB} {
		if bytes.Contains(file, []byte(secret)) {
			t.Errorf("the store's file holds %q", secret)
		}
	}
}

// TestDiscovery shows that provider keys in the environment are enough, and
// that the caller key that is made stays the same over restarts.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartConfigT(t, accounts.Config{Name: "alpha", Key: "sk-east"})
	data := t.TempDir()
	env := []string{"OPENAI_EAST_API_KEY=sk-east", "OPENAI_EAST_BASE_URL=" + fleet.URL("alpha") + "/v1", "OPENAI_EAST_MODELS=gpt-5"}
	var keys []string
	for range 2 {
		g, err := process.Start(process.Options{Binary: binary, Store: "bolt", Data: data, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Kill()
		_, rest, _ := strings.Cut(g.Output(), "key: ")
		key, _, found := strings.Cut(rest, "\n")
		if !found || !strings.HasPrefix(key, "sk-hf-") {
			t.Fatalf("no caller key in %q", g.Output())
		}
		keys = append(keys, key)
		models := get(t, g.URL+"/v1/models", key)
		if !strings.Contains(models.body, `"gpt-5"`) {
			t.Errorf("models: %s", models.body)
		}
		if code := g.Stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	if keys[0] != keys[1] {
		t.Error("the caller key changed over a restart")
	}
}

// TestTermFinishesExchanges shows that SIGTERM lets a running answer end.
func TestTermFinishesExchanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	home := r.owner(post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))).deployment())
	accounts.InjectT(t, home, accounts.Fault{Kind: accounts.SlowTokens, Delay: 50 * time.Millisecond})
	running := make(chan answer, 1)
	go func() { running <- post(t, r.URL+route("chat"), ask("chat", true, user("Hello"))) }()
	if err := home.Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) == 2 && calls[1].Open }); err != nil {
		t.Fatal(err)
	}
	if code := r.Stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if a := <-running; !whole("chat", a) {
		t.Errorf("the running answer was cut: %v %q", a.err, a.body)
	}
}
