package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// cli is one of the unchanged command-line clients, each process a new one with
// the same home.
type cli struct {
	t      *testing.T
	binary string
	home   string
	env    []string
}

// newCLI finds a client's program among the installed packages.
func newCLI(t *testing.T, pattern string, env ...string) *cli {
	t.Helper()
	platform := runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	found, _ := filepath.Glob(filepath.Join("clients", "cli", "node_modules", fmt.Sprintf(pattern, platform)))
	if len(found) != 1 {
		t.Fatal("the packages of localstack/e2e/clients/cli are missing for this machine: run `make setup`")
	}
	binary, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	write(t, home, "notes.txt", "a file to be seen\n")
	return &cli{t: t, binary: binary, home: home, env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, env...)}
}

// run starts the client in its home and returns all that it prints.
func (c *cli) run(args ...string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, c.binary, args...)
	command.Dir, command.Env = c.home, c.env
	out, err := command.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v\n%.3000s", filepath.Base(c.binary), err, out)
	}
	return string(out)
}

// held checks that all exchanges of a client's session went to one deployment of
// a protocol: one claim, then hits.
func (r *rig) held(t *testing.T, endpoint, protocol string) {
	t.Helper()
	var deployment string
	words := map[string]int{}
	for _, one := range exchanges(t, r) {
		if one.Endpoint != endpoint {
			continue
		}
		words[one.Affinity]++
		if deployment == "" {
			deployment = one.Deployment
		}
		if one.Status != 200 || one.Deployment != deployment || !strings.HasPrefix(one.Deployment, protocol+"-") {
			t.Errorf("an exchange ended with %d by %s, want 200 by %s", one.Status, one.Deployment, deployment)
		}
	}
	if words["claimed"] != 1 || words["hit"] < 2 || len(words) != 2 {
		t.Errorf("outcomes %v, want one claim and hits", words)
	}
}

// TestClaudeCode holds a conversation of two turns, the first with a tool call,
// with Claude Code as it is, on deployments of each protocol.
func TestClaudeCode(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			r := newRig(t, "memory")
			c := newCLI(t, "@anthropic-ai/claude-code-%s/claude", "ANTHROPIC_BASE_URL="+r.URL, "ANTHROPIC_AUTH_TOKEN="+keyA,
				"ANTHROPIC_MODEL="+protocol, "ANTHROPIC_SMALL_FAST_MODEL="+protocol, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1")
			const session = "7c1b58a4-5a55-4b7e-9c0d-2f8f4d1f6a11"
			first := c.run("-p", "call Bash please", "--session-id", session, "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose")
			for _, part := range []string{`"type":"tool_use"`, `"name":"Bash"`, `"type":"tool_result"`, `"subtype":"success"`} {
				if !strings.Contains(first, part) {
					t.Errorf("the first turn has no %s:\n%.3000s", part, first)
				}
			}
			if second := c.run("-p", "and again", "--resume", session, "--output-format", "json"); !strings.Contains(second, `"subtype":"success"`) || !strings.Contains(second, session) {
				t.Errorf("the second turn: %.3000s", second)
			}
			r.held(t, "messages", protocol)
		})
	}
}

// TestCodex holds a conversation of two turns, the first with a tool call, with
// Codex as it is, on deployments of each protocol.
func TestCodex(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			r := newRig(t, "memory")
			c := newCLI(t, "@openai/codex-%s/vendor/*/bin/codex", "HOLDFAST_KEY="+keyA)
			if err := os.Mkdir(filepath.Join(c.home, ".codex"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(c.home, ".codex"), "config.toml", fmt.Sprintf(`model = %q
model_provider = "holdfast"
[model_providers.holdfast]
name = "holdfast"
base_url = %q
env_key = "HOLDFAST_KEY"
wire_api = "responses"
`, protocol, r.URL+"/v1"))
			first := c.run("exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", "RUNTOOL")
			for _, part := range []string{`"type":"command_execution"`, `"exit_code":0`, `"type":"agent_message"`, `"type":"turn.completed"`} {
				if !strings.Contains(first, part) {
					t.Errorf("the first turn has no %s:\n%.3000s", part, first)
				}
			}
			second := c.run("exec", "resume", "--last", "--skip-git-repo-check", "--json", "and again")
			if !strings.Contains(second, `"type":"agent_message"`) || !strings.Contains(second, `"type":"turn.completed"`) {
				t.Errorf("the second turn: %.3000s", second)
			}
			r.held(t, "responses", protocol)
		})
	}
}
